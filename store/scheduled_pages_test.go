package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// What looks at times again and again stops at the first that is yet to come, however many follow: 20,000 runs of tomorrow whose priority will
// be raised, and as many deliveries that are to be kept.
func TestLooksAtTimesReadFewPagesOfThoseToCome(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, other := connect(t, url), connect(t, url)
	exec(t, other, `BEGIN; SELECT pg_current_xact_id()`) // who might hold something up
	exec(t, conn, `INSERT INTO rowrun.task (name, type, aging) VALUES ('later', 'NOOP', '1 day');
		INSERT INTO rowrun.task_run (task_id, run_at) SELECT (SELECT id FROM rowrun.task), now() + interval '1 day' FROM generate_series(1, 20000);
		INSERT INTO rowrun.webhook (url) VALUES ('https://example.com/');
		SET session_replication_role = replica;
		INSERT INTO rowrun.webhook_delivery (webhook_id, event_type, message_id, payload, status, delivered_at, plan_id, round)
		SELECT (SELECT id FROM rowrun.webhook), 'PIPELINE_FAILED', 'msg_' || n, '{}', 'DELIVERED', now(), n, 1 FROM generate_series(1, 20000) n;
		SET session_replication_role = origin`)
	promoteAll(t, conn)
	exec(t, conn, `VACUUM ANALYZE`)
	exec(t, conn, `SET enable_seqscan = off; SET enable_bitmapscan = off`) // as sessions of replicas do
	require.Equal(t, 20000, query[int](t, conn, `SELECT count(*) FROM rowrun.task_run WHERE status = 'PENDING' AND judge_at IS NOT NULL AND age_at IS NOT NULL`))
	for what, statement := range map[string]string{
		"who holds something up":         `SELECT * FROM rowrun.hold_ups()`,
		"whether the deployment is idle": store.Statement("stream_idle"),
		"whose priority is raised":       store.Statement("age_runs"),
		"which deliveries are removed":   store.Statement("remove_old_deliveries"),
	} {
		pages := pagesOf(t, conn, strings.ReplaceAll(statement, "$1", "86400"))
		t.Logf("%s: %d pages", what, pages)
		require.LessOrEqual(t, pages, 200, what)
	}
}

// Where more wait than a list reads, those of the newest runs are listed, and where these are too few all are read.
func TestAListBesideManyThatWait(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, `INSERT INTO rowrun.task (name, type) VALUES ('first', 'SQL'), ('later', 'NOOP'), ('now', 'NOOP');
		INSERT INTO rowrun.task_run (task_id, run_at) SELECT k.id, now() + interval '1 day' FROM rowrun.task k WHERE k.name = 'first';
		INSERT INTO rowrun.task_run (task_id, run_at) SELECT k.id, now() + interval '1 day' FROM rowrun.task k, generate_series(1, 12000) WHERE k.name = 'later';
		INSERT INTO rowrun.task_run (task_id) SELECT k.id FROM rowrun.task k WHERE k.name = 'now'`)
	s := openStore(t, url)
	for what, c := range map[string]struct {
		filter store.RunFilter
		want   []int64
	}{
		"the newest that is PENDING": {store.RunFilter{Statuses: []string{"PENDING"}, Limit: 2}, []int64{12001, 12000}},
		"of two statuses":            {store.RunFilter{Statuses: []string{"PENDING", "AVAILABLE"}, Limit: 2}, []int64{12002, 12001}},
		"fewer than asked for":       {store.RunFilter{Statuses: []string{"AVAILABLE"}, Limit: 2}, []int64{12002}},
		"the oldest":                 {store.RunFilter{Statuses: []string{"PENDING"}, Type: "SQL", Limit: 2}, []int64{1}},
		"none":                       {store.RunFilter{Statuses: []string{"RUNNING"}, Limit: 2}, nil},
	} {
		found, err := s.ListRuns(t.Context(), c.filter)
		require.NoError(t, err, what)
		var ids []int64
		for _, run := range found {
			ids = append(ids, run.ID)
		}
		require.Equal(t, c.want, ids, what)
	}
}
