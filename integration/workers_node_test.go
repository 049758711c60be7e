//go:build node

package integration_test

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The example of Node.js, which make test-node brings what it needs.
func TestExampleWorkerOfNode(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	serve(t, d.url)
	cmd := exec.Command("node", filepath.Join(examples(t), "worker.mjs")) //nolint:noctx // killed by cleanup
	cmd.Env = append(environment(), "DATABASE_URL="+workerLogin(t, d))
	worker := spawn(t, cmd)
	task := d.task(t, "GREET", `{"name": "you"}`, nil)
	for range 3 {
		run := d.await(t, d.run(t, task), "DONE")
		require.Equal(t, "hello you", ask[string](t, d, "SELECT result ->> 'text' FROM rowrun.task_run WHERE id = $1", run.ID))
	}
	failed := d.await(t, ask[int64](t, d, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"name": {"toString": 1}}') RETURNING id`, task), "FAILED")
	require.Equal(t, "ERROR", failed.Code)
	require.Contains(t, failed.Detail, "TypeError")
	worker.signal(t, syscall.SIGTERM)
	require.Zero(t, worker.wait(t), worker.log.tail())
}
