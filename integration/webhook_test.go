package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// loopback lets webhooks of a test reach its receiver.
func loopback() []string { return []string{"--webhook-allow-cidr", "127.0.0.0/8"} }

// announced starts n replicas and somebody who hears of every plan.
func announced(t *testing.T, n int, args ...[]string) (*database, *hearer, []*replica) {
	t.Helper()
	d, hears := newDatabase(t), newHearer(t)
	d.exec(t, "INSERT INTO rowrun.webhook (url, secret_ref) VALUES ($1, $2)", hears.url+"/hunter2?token=hunter2", hears.secretRef)
	var replicas []*replica
	for range n {
		replicas = append(replicas, serve(t, d.url, append([][]string{hears.knows()}, args...)...))
	}
	return d, hears, replicas
}

// plan inserts a plan with a NOOP task per payload: a, b, c, …
func (d *database) plan(t *testing.T, payloads ...string) int64 {
	t.Helper()
	id := ask[int64](t, d, "INSERT INTO rowrun.plan (name) VALUES ('release') RETURNING id")
	for i, payload := range payloads {
		d.task(t, "NOOP", payload, columns{"plan_id": id, "name": string(rune('a' + i))})
	}
	return id
}

// events are a plan's, in order: event, round, message.
func (d *database) events(t *testing.T, plan int64) []string {
	t.Helper()
	return list[string](t, d, `SELECT event_type || ' ' || round || ' ' || (payload::json -> 'data' ->> 'message')
		FROM rowrun.webhook_delivery WHERE plan_id = $1 ORDER BY id`, plan)
}

// awaitEvents waits until a plan has n of them.
func (d *database) awaitEvents(t *testing.T, plan int64, n int) []string {
	t.Helper()
	var events []string
	eventually(t, patience, fmt.Sprintf("event %d of plan %d", n, plan), func() bool {
		events = d.events(t, plan)
		return len(events) >= n
	})
	return events
}

// status waits until a plan has it.
func (d *database) awaitPlan(t *testing.T, plan int64, status string) {
	t.Helper()
	eventually(t, patience, fmt.Sprintf("plan %d %s", plan, status), func() bool {
		return ask[string](t, d, "SELECT status FROM rowrun.plan_status WHERE plan_id = $1", plan) == status
	})
}

func TestTwoFailuresAtOnceAreOneEventAndARetryIsAnother(t *testing.T) {
	t.Parallel()
	d, hears, _ := announced(t, 3)
	var plans []int64
	for range storetest.Count(10, 200) {
		plans = append(plans, d.plan(t, `{"sleep": "50ms", "fail": "no"}`, `{"sleep": "50ms", "fail": "no"}`))
	}
	run := func(function string) {
		d.exec(t, "SELECT rowrun."+function+"(p) FROM unnest($1::bigint[]) p", plans)
	}
	run("run_plan")
	for _, plan := range plans {
		d.awaitEvents(t, plan, 1)
		d.awaitPlan(t, plan, "FAILED")
	}
	run("retry_plan")
	for _, plan := range plans {
		d.awaitEvents(t, plan, 2)
	}
	eventually(t, patience, "the end of all runs", func() bool {
		return ask[int](t, d, "SELECT count(*)::int FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING')") == 0
	})
	d.exec(t, `UPDATE rowrun.task SET payload = '{}'`)
	run("retry_plan")
	for _, plan := range plans {
		d.awaitPlan(t, plan, "DONE")
		events := d.awaitEvents(t, plan, 3)
		require.Len(t, events, 3)
		require.Regexp(t, `^PIPELINE_FAILED 1 Pipeline failed - Task [ab] failed$`, events[0])
		require.Regexp(t, `^PIPELINE_FAILED 2 Pipeline failed on retry - Task [ab] failed$`, events[1])
		require.Regexp(t, `^PIPELINE_COMPLETED 3 Pipeline completed successfully`, events[2])
	}
	hears.requireAll(t, d)
}

func TestTheLastTwoTasksEndAtOnce(t *testing.T) {
	t.Parallel()
	d, hears, replicas := announced(t, 2)
	n := storetest.Count(50, 1000)
	for range n {
		d.plan(t, `{"sleep": "20ms"}`, `{"sleep": "20ms"}`)
	}
	d.exec(t, "SELECT rowrun.run_plan(id) FROM rowrun.plan")
	eventually(t, 3*patience, "an event per plan", func() bool {
		return ask[int](t, d, "SELECT count(*)::int FROM rowrun.webhook_delivery") >= n
	})
	hears.requireAll(t, d)
	require.Equal(t, n, ask[int](t, d, "SELECT count(*)::int FROM rowrun.webhook_delivery_log WHERE event_type = 'PIPELINE_COMPLETED' AND round = 1"))
	require.Equal(t, n, ask[int](t, d, "SELECT count(DISTINCT plan_id)::int FROM rowrun.webhook_delivery"))
	require.Equal(t, n, ask[int](t, d, "SELECT count(*)::int FROM rowrun.webhook_delivery"))
	t.Logf("plans whose last two tasks ended on two replicas: %d of %d", ask[int](t, d,
		"SELECT count(*)::int FROM (SELECT FROM rowrun.task_run GROUP BY plan_id HAVING count(DISTINCT replica_id) > 1) p"), n)
	for _, r := range replicas {
		require.NotContains(t, r.log.text(), "hunter2", "of a URL nothing is logged")
	}
}

// The replica has the rights of its role and no more.
func TestSkippingAllTasksCompletesAPlan(t *testing.T) {
	t.Parallel()
	d, hears, _ := announced(t, 0)
	as, err := url.Parse(d.url)
	require.NoError(t, err)
	query := as.Query()
	query.Set("options", "-c role=rowrun_replica")
	as.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	serve(t, as.String(), hears.knows())
	plan := d.plan(t, `{}`, `{}`)
	d.exec(t, "SELECT rowrun.skip_task(id) FROM rowrun.task WHERE plan_id = $1", plan)
	require.Equal(t, []string{"PIPELINE_COMPLETED 1 Pipeline completed successfully"}, d.awaitEvents(t, plan, 1))
	hears.requireAll(t, d)
}

func TestARunOfAKilledReplicaIsAnnounced(t *testing.T) {
	t.Parallel()
	d, hears, replicas := announced(t, 1, quickLease())
	plan := d.plan(t, `{"sleep": "10m"}`)
	run := ask[int64](t, d, "SELECT rowrun.run_plan($1)", plan)
	d.await(t, run, "RUNNING")
	replicas[0].kill(t)
	serve(t, d.url, quickLease(), hears.knows())
	require.Equal(t, []string{"PIPELINE_FAILED 1 Pipeline failed - Task a failed"}, d.awaitEvents(t, plan, 1))
	hears.requireAll(t, d)
	require.Equal(t, "STALE", d.look(t, run).Code)
}

// A user's transaction may hold a plan for as long as it likes; it holds up that plan and no other.
func TestALockOnOnePlanDelaysNoOther(t *testing.T) {
	t.Parallel()
	d, hears, _ := announced(t, 2)
	held := d.plan(t, `{"sleep": "2s"}`) // ends while its plan is held
	d.await(t, ask[int64](t, d, "SELECT rowrun.run_plan($1)", held), "RUNNING")
	tx, err := d.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }) // a transaction that stays open keeps slots of the log from being made
	_, err = tx.Exec(t.Context(), "SELECT FROM rowrun.plan WHERE id = $1 FOR UPDATE", held)
	require.NoError(t, err)
	begun, length := time.Now(), time.Duration(storetest.Count(3, 30))*time.Second
	slowest, others := time.Duration(0), 0
	for time.Since(begun) < length {
		plan := d.plan(t, `{}`, `{}`)
		asked := time.Now()
		d.exec(t, "SELECT rowrun.run_plan($1)", plan)
		d.awaitEvents(t, plan, 1)
		slowest, others = max(slowest, time.Since(asked)), others+1
	}
	require.Empty(t, d.events(t, held), "the fault: its plan is held")
	require.NoError(t, tx.Rollback(t.Context()))
	require.Len(t, d.awaitEvents(t, held, 1), 1)
	hears.requireAll(t, d)
	require.NotZero(t, others, "announced while the plan was held")
	t.Logf("%d other plans in %s, the slowest announced after %s", others, length, slowest)
}

func TestAPrivateAddressIsNotCalled(t *testing.T) {
	t.Parallel()
	d, hears := newDatabase(t), newHearer(t)
	d.exec(t, "INSERT INTO rowrun.webhook (url) VALUES ($1)", hears.url)
	r := serve(t, d.url)
	plan := d.plan(t, `{}`)
	d.exec(t, "SELECT rowrun.run_plan($1)", plan)
	problem := "the address is not public, and --webhook-allow-cidr does not name it"
	eventually(t, patience, "the refusal", func() bool {
		return len(list[string](t, d, "SELECT last_error FROM rowrun.webhook_delivery WHERE last_error = $1 AND status = 'PENDING'", problem)) == 1
	})
	hears.mu.Lock()
	require.Empty(t, hears.tries)
	hears.mu.Unlock()
	require.NotContains(t, r.log.text(), strings.TrimPrefix(hears.url, "http://"))
}

// Receivers that answer without end, all at once, cost a replica next to nothing.
func TestHostileReceiversCostNoMemory(t *testing.T) {
	t.Parallel()
	d, hears, replicas := announced(t, 1)
	bomb := make([]byte, 1<<20)
	for name, answer := range map[string]http.HandlerFunc{
		"body": func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(bomb); err != nil {
					return
				}
			}
		},
		"headers": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 1000 {
				w.Header().Set("X-Flood-"+strconv.Itoa(i), strings.Repeat("x", 8<<10))
			}
		},
		"zip": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		},
	} {
		server := httptest.NewServer(answer)
		t.Cleanup(func() {
			server.CloseClientConnections()
			server.Close()
		})
		d.exec(t, "INSERT INTO rowrun.webhook (name, url) SELECT $1, $2 FROM generate_series(1, 10)", name, server.URL)
	}
	announce := func(n int) {
		for range n {
			d.exec(t, "SELECT rowrun.run_plan($1)", d.plan(t, `{}`))
		}
		eventually(t, patience, "a try of each delivery", func() bool {
			return ask[bool](t, d, `SELECT (SELECT count(*) FROM rowrun.webhook_delivery_log) = (SELECT count(*) FROM rowrun.plan)
				AND NOT EXISTS (SELECT FROM rowrun.webhook_delivery WHERE attempts = 0)`)
		})
	}
	d.exec(t, "UPDATE rowrun.webhook SET enabled = false WHERE name <> ''")
	announce(20)
	calm := residentKB(t, replicas[0].cmd.Process.Pid)
	d.exec(t, "UPDATE rowrun.webhook SET enabled = true")
	announce(20)
	// What a first flood leaves behind is the room that goes on being used: pools, stacks, the runtime's spare pages.
	first := residentKB(t, replicas[0].cmd.Process.Pid)
	announce(20)
	second := residentKB(t, replicas[0].cmd.Process.Pid)
	t.Logf("resident: %d KiB before, %d KiB after %d hostile answers, %d KiB after as many again", calm, first, 20*30, second)
	require.Less(t, first-calm, 24<<10)
	require.Less(t, second-first, 8<<10)
	require.Equal(t, 2*20*20, ask[int](t, d, `SELECT count(*)::int FROM rowrun.webhook_delivery d JOIN rowrun.webhook w ON w.id = d.webhook_id
		WHERE w.name IN ('body', 'zip') AND d.status = 'DELIVERED'`), "their status said so")
	d.exec(t, "DELETE FROM rowrun.webhook WHERE name <> ''")
	hears.requireAll(t, d)
}

// residentKB is how much memory a process holds.
func residentKB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.Fields(text)[0])
			require.NoError(t, err)
			return kb
		}
	}
	require.FailNow(t, "no VmRSS")
	return 0
}
