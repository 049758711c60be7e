package stream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// forge notifies as anybody can who may connect.
func forge(t testing.TB, p *pgxpool.Pool, payload string) {
	t.Helper()
	exec(t, p, "SELECT pg_notify('rowrun_task_run', $1)", payload)
}

func claimed(run int64, from, to string) string {
	return fmt.Sprintf(`{"run_id":%d,"task_id":1,"plan_id":null,"from":"%s","to":"%s","attempt":0,"replica_id":"forged"}`, run, from, to)
}

func forged(run int64, from, to string) string { return "[" + claimed(run, from, to) + "]" }

// What somebody says in a notification is a reason to look: rows tell what happened, once.
func TestForgedNotificationsTellNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	id := task(t, p, "forged", "NOBODY")
	old := walk(t, p, id, "DONE") // before the reader begins
	waiting := queryID(t, p, insertRun, id)
	w := watch(t, url, nil)

	run := queryID(t, p, insertRun, id)
	exec(t, p, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1", run)
	exec(t, p, "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'me' WHERE id = $1", run)
	eventually(t, "it runs", func() bool { return len(w.of(t, run)) == 3 })
	for _, to := range []string{"DONE", "FAILED", "CANCELED", "RUNNING", "AVAILABLE", "PENDING", "BOGUS"} {
		for _, named := range []int64{run, old, waiting, run + 1000, 1 << 60, 0, -1} {
			forge(t, p, forged(named, "RUNNING", to))
			forge(t, p, `[{"run_id":`+fmt.Sprint(named)+`,"task_id":1,"to":"`+to+`","attempt":0}]`) // as another schema may write it
		}
	}
	for _, junk := range []string{"[", "", "{}", "null", "[{}]", `[{"run_id":1}]`, strings.Repeat("[", 7000), `[{"` + strings.Repeat("x", 7000) + "}]"} {
		forge(t, p, junk)
	}
	exec(t, p, "UPDATE rowrun.task_run SET status = 'DONE' WHERE id = $1", run)
	eventually(t, "its end", func() bool { return len(w.of(t, run)) == 4 })
	forge(t, p, forged(run, "RUNNING", "FAILED"))
	w.awaitBegin(t, p)
	lines := w.of(t, run)
	require.Equal(t, "PENDING AVAILABLE RUNNING DONE", statuses(lines))
	require.Equal(t, "me", *lines[3].ReplicaID)
	require.Empty(t, w.of(t, old))
	require.Empty(t, w.of(t, waiting))
	require.Empty(t, w.gaps(t))
	for _, l := range w.lines(t) {
		require.Contains(t, []string{"forged", "canary"}, *l.Task)
	}

	// What was there before is told once it goes on.
	exec(t, p, "SELECT rowrun.cancel_run($1)", waiting)
	eventually(t, "its end", func() bool { return len(w.of(t, waiting)) == 1 })
	require.Equal(t, "CANCELED", statuses(w.of(t, waiting)))
}

// Where more is told than is read, the rows tell it some seconds later; nothing is false, and nothing is told twice.
func TestFloodOfForgedNotificationsHidesNothing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	id := task(t, p, "flooded", "NOBODY")
	exec(t, p, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 30000)", id)
	w := watch(t, url, nil)
	run := queryID(t, p, insertRun, id)

	// One session, by far more than it is given, each naming real runs.
	conn, err := p.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	for round := range 40 {
		_, err := conn.Exec(t.Context(), `SELECT pg_notify('rowrun_task_run', (SELECT '[' || string_agg(format(
			'{"run_id":%s,"task_id":1,"plan_id":null,"from":"RUNNING","to":"DONE","attempt":%s,"replica_id":null}', r.id, $1::int * 1000 + n), ',') || ']'
			FROM (SELECT (n * 60 + i) % 30000 + 1 AS id FROM generate_series(1, 60) i) r))
			FROM generate_series(1, 200) n`, round)
		require.NoError(t, err)
	}
	// What the flooding session does itself is not heard any more, but found.
	_, err = conn.Exec(t.Context(), "UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = $1", run)
	require.NoError(t, err)
	began := time.Now()
	eventually(t, "the true one", func() bool { return len(w.of(t, run)) == 2 })
	t.Logf("after %s", time.Since(began))
	for _, l := range w.lines(t) {
		if l.RunID == run || l.Event == "stream.gap" || *l.Task == "canary" {
			continue
		}
		require.Equal(t, "PENDING", l.To)
		require.Len(t, w.of(t, l.RunID), 1)
	}
	require.LessOrEqual(t, len(w.gaps(t)), 1)
}
