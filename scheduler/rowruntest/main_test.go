package rowruntest_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/client"
	"github.com/rowrun/rowrun/scheduler/replica"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

func enqueue(t *testing.T, conn *pgx.Conn, jobs ...client.Job) []int64 {
	t.Helper()
	ids, err := client.EnqueueMany(t.Context(), conn, jobs)
	require.NoError(t, err)
	return ids
}

// each is an executor that is a function of the run.
func each(do func(run *replica.TaskRun) error) replica.Executor {
	return replica.ExecutorFunc(func(_ context.Context, run *replica.TaskRun) (replica.Result, error) {
		return replica.Result{}, do(run)
	})
}

// failing is a test that may fail.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure is what a test says when it fails; it must.
func failure(t *testing.T, test func(t testing.TB)) string {
	t.Helper()
	f, ended := &failing{TB: t}, make(chan struct{})
	go func() {
		defer close(ended)
		test(f)
	}()
	<-ended
	require.NotEmpty(t, f.said, "it didn't fail")
	return f.said
}
