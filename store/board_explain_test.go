package store_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// What the dashboard asks reads what it shows, or as much as it says that it looks at, beside many runs that have ended; no
// statement reads a table from one end to the other.
func TestTheDashboardReadsABoundedPart(t *testing.T) {
	t.Parallel()
	log := &storetest.Log{}
	cluster, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	url := storetest.On(t, cluster)
	conn := connect(t, url)
	ended := storetest.Count(60_000, 1_000_000)
	fillForExplain(t, conn, ended, 1000)
	exec(t, conn, `INSERT INTO rowrun.webhook (id, url) VALUES (1, 'https://app.example/hook')`)
	exec(t, conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload, status)
		SELECT 1, n, 1, 'PIPELINE_FAILED', 'm' || n, '{}', CASE WHEN n % 100 = 0 THEN 'PENDING' ELSE 'DELIVERED' END FROM generate_series(1, 20000) n`)
	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('few', 'NOOP', 3)`)
	exec(t, conn, `ANALYZE rowrun.webhook_delivery, rowrun.webhook, rowrun.plan`)
	e := explain(t, log, url)
	s := open(t, url, time.Minute)
	page := store.Page{Limit: 50}
	runs := func(what string, most int, f store.RunSearch, p store.Page) store.Found[store.BoardRun] {
		t.Helper()
		var found store.Found[store.BoardRun]
		for first := range 2 { // a connection has plans to make first, for which it reads catalogs and the ends of indexes
			e.bounded(t, what, most*(2-first), func() {
				var err error
				found, err = s.SearchRuns(t.Context(), f, p)
				require.NoError(t, err)
			})
		}
		return found
	}
	// 20,000 runs are about 600 pages of the table here.
	const look = 4000
	require.Len(t, runs("the newest runs", 3000, store.RunSearch{}, page).Items, 50)
	require.Len(t, runs("the oldest runs", 3000, store.RunSearch{}, store.Page{Limit: 50, Oldest: true}).Items, 50)
	require.NotEmpty(t, runs("DONE", look, store.RunSearch{Statuses: []string{"DONE"}}, page).Items)
	require.NotEmpty(t, runs("PENDING", 6000, store.RunSearch{Statuses: []string{"PENDING"}}, page).Items)
	require.Empty(t, runs("RUNNING", 3000, store.RunSearch{Statuses: []string{"RUNNING"}}, page).Items)
	require.NotEmpty(t, runs("of a plan", 12_000, store.RunSearch{PlanID: 1}, page).Items)
	require.NotEmpty(t, runs("of a task", 3000, store.RunSearch{TaskIDs: []string{"1"}}, page).Items)
	// Up to 20,000 are looked at, each of which may lie on a page of its own; at the full counts these do, nearly.
	require.NotEmpty(t, runs("failed for good, by id", 22_000, store.RunSearch{Failed: true}, page).Items)
	since := time.Now().Add(-24 * time.Hour)
	require.Empty(t, runs("of before the last day and after the last month", 1500, store.RunSearch{Until: &since, Since: month()}, page).Items)
	rare := runs("a text that nothing has", look, store.RunSearch{Text: "nothing"}, page)
	require.Empty(t, rare.Items)
	require.NotZero(t, rare.Next, "there is more to look at")
	require.NotNil(t, rare.SearchedTo)

	// A run of a plan of many tasks that has become AVAILABLE: the ends of all others are looked at.
	held := query[int64](t, conn, `SELECT min(id) FROM rowrun.task_run WHERE plan_id = 1`)
	exec(t, conn, `SELECT rowrun.add_waves(1, '[]'::jsonb || jsonb_build_object('tasks', '[]'::jsonb))`)
	for what, ask := range map[string]struct {
		most int
		do   func() error
	}{
		"the last that failed": {3000, func() error {
			_, _, _, err := s.FailedRuns(t.Context(), store.RunSearch{Failed: true}, nil, 50)
			return err
		}},
		"those before": {1000, func() error {
			_, _, _, err := s.FailedRuns(t.Context(), store.RunSearch{Failed: true}, &store.FailedAfter{Micros: time.Now().Add(-time.Hour).UnixMicro(), ID: 5}, 50)
			return err
		}},
		"a failure's text": {11_000, func() error {
			_, _, _, err := s.FailedRuns(t.Context(), store.RunSearch{Failed: true, Text: "nothing"}, nil, 50)
			return err
		}},
		"a run":     {100, func() error { _, err := s.FindBoardRun(t.Context(), 5); return err }},
		"its chain": {100, func() error { _, err := s.BoardChain(t.Context(), 5); return err }},
		"its waits": {400, func() error { _, err := s.BoardWaits(t.Context(), 5); return err }},
		"waits beside a plan's tasks": {4000, func() error {
			_, err := s.BoardWaits(t.Context(), held)
			return err
		}},
		"waves":   {3000, func() error { _, err := s.PlanWaves(t.Context(), 1); return err }},
		"its log": {50, func() error { _, err := s.BoardLog(t.Context(), 5, 0, 50); return err }},
		"plans":   {3000, func() error { _, err := s.SearchPlans(t.Context(), store.PlanSearch{}, page); return err }},
		"plans to act on": {6000, func() error {
			_, err := s.PlansFound(t.Context(), json.RawMessage(`{"having": ["RUNNING"]}`), 20)
			return err
		}},
		"a plan":  {1500, func() error { _, err := s.FindBoardPlan(t.Context(), 1); return err }},
		"a grid":  {1600, func() error { _, err := s.Grid(t.Context(), 1); return err }},
		"moments": {6000, func() error { _, err := s.PlanMoments(t.Context(), 1, 0, 2000); return err }},
		"edges":   {6000, func() error { _, err := s.Edges(t.Context(), 2, 0, 1000); return err }},
		"an edge": {100, func() error { _, err := s.Edges(t.Context(), 2, 2000005, 1000); return err }},
		"tasks":   {2000, func() error { _, err := s.SearchTasks(t.Context(), store.TaskSearch{}, page); return err }},
		"tasks that need attention": {40_000, func() error {
			_, err := s.SearchTasks(t.Context(), store.TaskSearch{PlanID: 1, Attention: true}, page)
			return err
		}},
		"FAILED tasks": {40_000, func() error {
			_, err := s.SearchTasks(t.Context(), store.TaskSearch{Statuses: []string{"FAILED"}}, page)
			return err
		}},
		"a task":       {200, func() error { _, err := s.FindBoardTask(t.Context(), 1); return err }},
		"schedules":    {200, func() error { _, err := s.BoardSchedules(t.Context(), page, false); return err }},
		"next ticks":   {200, func() error { _, err := s.BoardSchedules(t.Context(), page, true); return err }},
		"the past":     {12_000, func() error { _, err := s.BoardPast(t.Context(), 3*time.Hour, 56); return err }},
		"the overview": {3000, func() error { _, err := s.BoardOverview(t.Context()); return err }},
		"types":        {3000, func() error { _, err := s.BoardTypes(t.Context()); return err }},
		"replicas":     {200, func() error { _, err := s.BoardReplicas(t.Context()); return err }},
		"a limit":      {1500, func() error { _, _, err := s.LimitRuns(t.Context(), "few", ""); return err }},
		"limits":       {3000, func() error { _, err := s.ListLimits(t.Context()); return err }},
		"its keys":     {1500, func() error { _, err := s.LimitKeys(t.Context(), "few"); return err }},
		"webhooks":     {1500, func() error { _, err := s.BoardWebhooks(t.Context(), "", 0, page); return err }},
		"deliveries": {900, func() error {
			_, err := s.SearchDeliveries(t.Context(), store.DeliverySearch{}, page)
			return err
		}},
		"PENDING deliveries": {40_000, func() error {
			_, err := s.SearchDeliveries(t.Context(), store.DeliverySearch{Statuses: []string{"PENDING"}}, page)
			return err
		}},
		"a delivery": {50, func() error { _, err := s.FindBoardDelivery(t.Context(), 5); return err }},
		"acts":       {100, func() error { _, err := s.ListActs(t.Context(), "", page); return err }},
	} {
		for range 2 {
			e.bounded(t, what, ask.most, func() { require.NoError(t, ask.do(), what) })
		}
	}
	e.bounded(t, "an act's step", 26_000, func() {
		act, made, err := s.BeginAct(t.Context(), store.NewAct{
			RequestID: "0d9a4a4e-6f39-4a34-8d43-3a6b7a3a4b10", Verb: "cancel", Kind: "run", By: "x", Search: json.RawMessage(`{"plan_id": 2, "statuses": ["PENDING"]}`),
		})
		require.NoError(t, err)
		require.True(t, made)
		require.Equal(t, 20, act.Done)
	})
	for _, name := range []string{
		"board_find_runs", "board_runs", "board_failed_runs", "board_run", "board_chain", "board_plans", "board_plan", "board_grid", "board_moments", "board_edges",
		"board_find_tasks", "board_tasks", "board_task", "board_schedules", "board_overview", "board_past", "board_queues", "board_longest", "board_types", "board_replicas",
		"board_limit_runs", "list_limits", "limit_keys", "board_waits", "plan_waves",
		"board_webhooks", "board_find_plans", "board_find_deliveries", "board_deliveries", "list_acts", "step_act",
	} {
		require.Contains(t, e.names, name, "its plan was not looked at")
	}
}

func month() *time.Time {
	at := time.Now().Add(-30 * 24 * time.Hour)
	return &at
}

// bounded runs something and reads the plans that the server logged meanwhile: no scan of a whole table, and at most so many
// pages touched in all, those of a function's statements twice.
func (e *explained) bounded(t *testing.T, what string, most int, do func()) {
	t.Helper()
	e.mark(t, 0)
	before := e.log.Len()
	do()
	text := e.mark(t, before)
	pages, top, plans := 0, false, 0
	for line := range strings.Lines(text) {
		if strings.Contains(line, "plan:") {
			top = true
			plans++
		}
		if m := nameOf.FindStringSubmatch(line); m != nil {
			e.names[m[1]] = true
		}
		if !strings.Contains(line, "never executed") {
			require.NotRegexp(t, seqScan, line, what)
		}
		if m := buffers.FindStringSubmatch(line); m != nil && top {
			for _, n := range hitRead.FindAllStringSubmatch(m[1], -1) {
				pages += number(n[1])
			}
			top = false
		}
	}
	require.Positive(t, plans, "no plan was logged: nothing is tested")
	t.Logf("%s: %d pages", what, pages)
	require.LessOrEqual(t, pages, most, "%s\n%.5000s", what, text)
}
