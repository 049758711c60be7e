package dbexec_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/dbexec"
)

const deployment = "6f1ad1f4-4a3c-4b6f-9a39-5d7c3d9f0a11"

// patience is how long a test waits for what is bound to happen.
const patience = 60 * time.Second

// TestMain is also the program that tests kill: with a text in sidecarText it executes that one instead of the tests.
func TestMain(m *testing.M) {
	if os.Getenv(sidecarText) != "" {
		os.Exit(beSidecar())
	}
	code := m.Run()
	stopServer()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// executor returns one with the target "orders".
func executor(t testing.TB, target dbexec.Target) *dbexec.Executor {
	t.Helper()
	x, err := dbexec.New(dbexec.Config{Targets: map[string]dbexec.Target{"orders": target}, Deployment: deployment})
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
	rows []logged
	told chan struct{} // has room for one: something was logged
}

// newRun returns a first run of a task. transaction is "true", "false" or "".
func newRun(t testing.TB, text, transaction string) *record {
	t.Helper()
	r := &record{Run: plainRun(text, transaction), told: make(chan struct{}, 1)}
	r.Log = func(_ context.Context, kind string, detail any) error {
		r.Lock()
		defer r.Unlock()
		r.rows = append(r.rows, logged{kind, object(t, detail)})
		select {
		case r.told <- struct{}{}:
		default:
		}
		return nil
	}
	return r
}

func plainRun(text, transaction string) *scheduler.Run {
	payload := map[string]any{"sql": text}
	if transaction != "" {
		payload["transaction"] = transaction == "true"
	}
	raw, _ := json.Marshal(payload) // strings and booleans always marshal
	return &scheduler.Run{
		ID: 7, RootID: 7, TaskID: 3, Type: "SQL", Queue: "default", DatabaseID: "orders", Version: "1.10", Payload: raw, Manual: true,
		Log:      func(context.Context, string, any) error { return nil },
		Progress: func(context.Context, any) error { return nil },
	}
}

// retry is an automatic attempt after a run.
func retry(t testing.TB, text, transaction string) *record {
	t.Helper()
	r := newRun(t, text, transaction)
	r.ID, r.Attempt, r.Manual = 8, 1, false
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

// migrate executes a DATABASE_MIGRATE and returns the result's output as an object.
func migrate(t testing.TB, target dbexec.Target, r *record) (map[string]any, error) {
	t.Helper()
	result, err := executor(t, target).Migrate().Execute(t.Context(), r.Run)
	if err != nil {
		return nil, err
	}
	return object(t, result.Output), nil
}

// perform executes an SQL run.
func perform(ctx context.Context, t testing.TB, target dbexec.Target, r *record) (map[string]any, error) {
	t.Helper()
	result, err := executor(t, target).Execute(ctx, r.Run)
	if err != nil {
		return nil, err
	}
	return object(t, result.Output), nil
}

func execute(t testing.TB, db *sql.DB, text string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), text, args...)
	require.NoError(t, err, text)
}

func value[T any](t testing.TB, db *sql.DB, text string, args ...any) T {
	t.Helper()
	var out T
	require.NoError(t, db.QueryRowContext(t.Context(), text, args...).Scan(&out), text)
	return out
}

// eventually polls for a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !condition() {
		require.True(t, time.Now().Before(deadline), "never true: %s", what)
		<-time.After(10 * time.Millisecond)
	}
}

// The environment of a sidecar that is to be killed.
const (
	sidecarText   = "DBEXEC_TEST_TEXT"
	sidecarURL    = "DBEXEC_TEST_URL"
	sidecarEngine = "DBEXEC_TEST_ENGINE"
)

// beSidecar executes a DATABASE_MIGRATE as the process that is killed while it does.
func beSidecar() int {
	x, err := dbexec.New(dbexec.Config{
		Targets:    map[string]dbexec.Target{"orders": {Engine: dbexec.Engine(os.Getenv(sidecarEngine)), URL: os.Getenv(sidecarURL)}},
		Deployment: deployment,
	})
	if err == nil {
		_, err = x.Migrate().Execute(context.Background(), plainRun(os.Getenv(sidecarText), ""))
	}
	fmt.Println("ended:", err)
	return 0
}

// sidecar starts a process that executes a text; kill ends it as SIGKILL does.
func sidecar(t *testing.T, target dbexec.Target, text string) (kill func()) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), sidecarText+"="+text, sidecarURL+"="+target.URL, sidecarEngine+"="+string(target.Engine))
	command.Dir = t.TempDir()
	out, err := os.Create(filepath.Join(command.Dir, "out"))
	require.NoError(t, err)
	command.Stdout, command.Stderr = out, out
	require.NoError(t, command.Start())
	kill = sync.OnceFunc(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = out.Close()
		said, err := os.ReadFile(out.Name())
		require.NoError(t, err)
		require.Empty(t, string(said), "it was killed in the middle")
	})
	t.Cleanup(kill)
	return kill
}
