package sqlexec_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/sqlexec"
	"github.com/rowrun/rowrun/store/storetest"
)

const deployment = "6f1ad1f4-4a3c-4b6f-9a39-5d7c3d9f0a11"

// patience is how long a test waits for what is bound to happen.
const patience = time.Minute

func TestMain(m *testing.M) { storetest.Main(m) }

// executor returns one with the target "orders".
func executor(t testing.TB, target sqlexec.Target) *sqlexec.Executor {
	t.Helper()
	x, err := sqlexec.New(sqlexec.Config{Targets: map[string]sqlexec.Target{"orders": target}, Deployment: deployment})
	require.NoError(t, err)
	return x
}

// logged is a row of task_run_log.
type logged struct {
	kind   string
	detail map[string]any
}

// record is a run and what its executor said of it.
type record struct {
	*scheduler.Run
	sync.Mutex
	rows     []logged
	progress []map[string]any
}

// newRun returns a first run of a task with "sql" as its text.
func newRun(t testing.TB, sql string, transaction bool) *record {
	t.Helper()
	payload, err := json.Marshal(map[string]any{"sql": sql, "transaction": transaction})
	require.NoError(t, err)
	r := &record{Run: &scheduler.Run{
		ID: 7, RootID: 7, TaskID: 3, Type: "SQL", Queue: "default", DatabaseID: "orders", Version: "1.10",
		Payload: payload, Manual: true,
	}}
	r.Log = func(_ context.Context, kind string, detail any) error {
		r.Lock()
		defer r.Unlock()
		r.rows = append(r.rows, logged{kind, object(t, detail)})
		return nil
	}
	r.Progress = func(_ context.Context, progress any) error {
		r.Lock()
		defer r.Unlock()
		r.progress = append(r.progress, object(t, progress))
		return nil
	}
	return r
}

// of returns the details of one kind of rows.
func (r *record) of(kind string) []map[string]any {
	r.Lock()
	defer r.Unlock()
	var out []map[string]any
	for _, row := range r.rows {
		if row.kind == kind {
			out = append(out, row.detail)
		}
	}
	return out
}

func object(t testing.TB, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// failure returns err as the failure that it has to be.
func failure(t testing.TB, err error) *scheduler.Failure {
	t.Helper()
	var f *scheduler.Failure
	require.ErrorAs(t, err, &f)
	return f
}

// connect opens the test's own connection.
func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func execute(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func value[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var out T
	require.NoError(t, conn.QueryRow(t.Context(), sql, args...).Scan(&out))
	return out
}

// eventually polls the database for a condition.
func eventually(t testing.TB, conn *pgx.Conn, condition string, args ...any) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !value[bool](t, conn, "SELECT "+condition, args...) {
		require.True(t, time.Now().Before(deadline), "never true: %s", condition)
		<-time.After(10 * time.Millisecond)
	}
}

// sleeping is true while a run's pg_sleep is executed in this database.
const sleeping = `EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
	AND application_name = 'rowrun:7' AND state = 'active' AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid())`
