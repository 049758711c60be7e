package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// listener hears what a psql session that listens hears.
type listener struct {
	conn *pgx.Conn
	say  *pgx.Conn
	// again is what was heard before, for somebody else to look at.
	again []string
}

func newListener(t *testing.T, url string) *listener {
	t.Helper()
	l := &listener{conn: connect(t, url), say: connect(t, url)}
	exec(t, l.conn, `LISTEN `+store.Channel)
	return l
}

// heard are the payloads since the last call: all that was committed before it, because notifications keep the order
// of commits.
func (l *listener) heard(t *testing.T) (payloads []string) {
	t.Helper()
	payloads, l.again = l.again, nil
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	exec(t, l.say, `SELECT pg_notify($1, 'end')`, store.Channel)
	for {
		n, err := l.conn.WaitForNotification(ctx)
		require.NoError(t, err)
		if n.Payload == "end" {
			return payloads
		}
		payloads = append(payloads, n.Payload)
	}
}

func TestNotifyTellsEachTransitionAndNothingElse(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	addReplica(t, conn, `r"1'\é`)
	plan := query[int64](t, conn, `INSERT INTO rowrun.plan DEFAULT VALUES RETURNING id`)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (plan_id, type) VALUES ($1, 'NOOP') RETURNING id`, plan)
	l := newListener(t, url)

	run := query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	require.Equal(t, []string{"[]"}, l.heard(t))

	exec(t, conn, `UPDATE rowrun.task_run SET priority = 3 WHERE id = $1`, run)
	exec(t, conn, `UPDATE rowrun.task_run SET input = '{"a": 1}' WHERE id = $1`, run)
	exec(t, conn, `UPDATE rowrun.task_run SET priority = 4 WHERE false`)
	exec(t, conn, `UPDATE rowrun.replica_heartbeat SET last_heartbeat = clock_timestamp()`)
	exec(t, conn, `INSERT INTO rowrun.task_run_log (task_run_id, type) VALUES ($1, 'note')`, run)
	require.Empty(t, l.heard(t), "edits and heartbeats")

	exec(t, conn, `SELECT rowrun.promote_runs()`)
	require.Equal(t, []string{transition(run, task, plan, "PENDING", "AVAILABLE", `null`)}, l.heard(t))

	s := open(t, url, time.Minute)
	pass, err := s.Work(t.Context(), store.Trip{Replica: `r"1'\é`, Capabilities: noop(), Want: 1})
	require.NoError(t, err)
	require.Len(t, pass.Claims, 1)
	require.Equal(t, []string{transition(run, task, plan, "AVAILABLE", "RUNNING", `"r\"1'\\é"`)}, l.heard(t))

	held, err := s.ReportProgress(t.Context(), run, pass.Claims[0].Claim, json.RawMessage(`{"done": 1}`))
	require.NoError(t, err)
	require.True(t, held)
	require.NoError(t, s.Heartbeat(t.Context(), `r"1'\é`, 1))
	require.Empty(t, l.heard(t), "progress and heartbeat")

	exec(t, conn, `UPDATE rowrun.task_run SET cancel_requested_at = now() WHERE id = $1`, run)
	require.Equal(t, []string{"[]"}, l.heard(t), "a cancel asked of a RUNNING run")

	ended, _, err := s.EndRuns(t.Context(), []store.Ending{{ID: run, Claim: pass.Claims[0].Claim, PlanTask: task}}, 0)
	require.NoError(t, err)
	require.Len(t, ended, 1)
	require.Equal(t, []string{transition(run, task, plan, "RUNNING", "DONE", `"r\"1'\\é"`)}, l.heard(t))
}

func transition(run, task, plan int64, from, to, replica string) string {
	return fmt.Sprintf(`[{"run_id":%d,"task_id":%d,"plan_id":%d,"from":"%s","to":"%s","attempt":0,"replica_id":%s}]`,
		run, task, plan, from, to, replica)
}

// A thousand transitions in one statement, with the longest and most awkward replica id: several notifications, each
// within PostgreSQL's bound, together complete.
func TestNotifySplitsWhatIsTooLong(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	replica := strings.Repeat(`"`, 100)
	addReplica(t, conn, replica)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 1000)`, task)
	l := newListener(t, url)
	exec(t, conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = $1`, replica)

	came, seen := map[int64]bool{}, map[int64]bool{}
	payloads := l.heard(t)
	require.Greater(t, len(payloads), 1)
	for _, p := range payloads {
		require.LessOrEqual(t, len(p), 7900)
		var items []struct {
			RunID     int64   `json:"run_id"`
			To        string  `json:"to"`
			ReplicaID *string `json:"replica_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(p), &items))
		for _, i := range items {
			if !came[i.RunID] {
				came[i.RunID] = true
				require.Equal(t, "AVAILABLE", i.To, "that it is AVAILABLE from its INSERT on is told first")
				require.Nil(t, i.ReplicaID)
				continue
			}
			require.False(t, seen[i.RunID], "run %d is told twice", i.RunID)
			seen[i.RunID] = true
			require.Equal(t, "RUNNING", i.To)
			require.Equal(t, replica, *i.ReplicaID)
		}
	}
	require.Len(t, seen, 1000)
}

// A client that is idle in a transaction after its INSERT, its deferred triggers made immediate so that it already
// holds the lock of its moment, silences nobody else.
func TestNotifyIsNotSilencedByAnIdleClient(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	idle, conn := connect(t, url), connect(t, url)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	l := newListener(t, url)
	tx, err := idle.Begin(t.Context())
	require.NoError(t, err)
	exec(t, idle, `SET CONSTRAINTS ALL IMMEDIATE`)
	exec(t, idle, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	require.Equal(t, int64(1), query[int64](t, conn, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1920298606 AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`), "it doesn't hold the lock: nothing is tested")

	exec(t, conn, `SELECT pg_sleep(0.02)`) // past the slice of the clock that it does silence
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
	require.Equal(t, []string{"[]"}, l.heard(t))
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, []string{"[]"}, l.heard(t))
}

// What a transaction will PREPARE may not notify.
func TestNotifyOffLetsATransactionPrepare(t *testing.T) {
	t.Parallel()
	cluster, err := embeddedpg.Start(t.Context(), embeddedpg.Config{
		Ephemeral: true, Settings: map[string]string{"max_prepared_transactions": "4"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	url := storetest.On(t, cluster)
	conn := connect(t, url)
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	prepare := func(first string) error {
		exec(t, conn, `BEGIN`)
		exec(t, conn, first)
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1)`, task)
		exec(t, conn, `UPDATE rowrun.task_run SET status = 'CANCELED'`)
		_, err := conn.Exec(t.Context(), `PREPARE TRANSACTION 'one'`)
		return err
	}
	require.Error(t, prepare(`SELECT 1`), "PostgreSQL takes NOTIFY there: the setting isn't needed any more")
	exec(t, conn, `ROLLBACK`)
	require.NoError(t, prepare(`SET LOCAL rowrun.notify = off`))
	exec(t, conn, `COMMIT PREPARED 'one'`)
	require.Equal(t, "CANCELED", query[string](t, conn, `SELECT status FROM rowrun.task_run`))
}
