package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/storetest"
)

// A list reads what its filter names, beside many runs that have ended, though one statement serves all filters and the sessions
// make plans for any parameters.
func TestListsReadWhatTheirFilterNames(t *testing.T) {
	t.Parallel()
	log := &storetest.Log{}
	cluster, err := embeddedpg.Start(t.Context(), embeddedpg.Config{Ephemeral: true, Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	url := storetest.On(t, cluster)
	conn := connect(t, url)
	fill(t, conn)
	exec(t, conn, `SET session_replication_role = replica;
INSERT INTO rowrun.task (type, sequential) SELECT 'NOOP', false FROM generate_series(1, 5000);
INSERT INTO rowrun.task_run (id, task_id, root_id, status, priority, creator, type, queue, sequential, finished_at)
SELECT 100000 + n, (SELECT max(id) FROM rowrun.task), 100000 + n, 'DONE', 0, 'x', 'NOOP', 'default', false, now() FROM generate_series(1, 20000) n;
SET session_replication_role = origin;
ANALYZE rowrun.task, rowrun.task_run`)
	e := explain(t, log, url)
	s := openStore(t, url)
	runs := func(what string, f store.RunFilter) {
		t.Helper()
		e.check(t, what, 500, func() {
			f.Limit = 5
			found, err := s.ListRuns(t.Context(), f)
			require.NoError(t, err)
			require.NotEmpty(t, found)
		})
	}
	tasks := func(what string, most int, f store.TaskFilter) {
		t.Helper()
		e.check(t, what, most, func() {
			f.Limit = 5
			found, err := s.ListTasks(t.Context(), f)
			require.NoError(t, err)
			require.NotEmpty(t, found)
		})
	}
	plan := int64(1)
	runs("the newest runs", store.RunFilter{})
	runs("DONE", store.RunFilter{Statuses: []string{"DONE"}})
	runs("failed for good", store.RunFilter{FailedForGood: true})
	runs("AVAILABLE", store.RunFilter{Statuses: []string{"AVAILABLE"}})
	runs("RUNNING", store.RunFilter{Statuses: []string{"RUNNING"}})
	runs("PENDING", store.RunFilter{Statuses: []string{"PENDING"}})
	runs("of a plan", store.RunFilter{PlanID: &plan})
	runs("of a plan's task", store.RunFilter{Task: "5"})
	tasks("the newest tasks", 500, store.TaskFilter{})
	tasks("the tasks of a plan", 6000, store.TaskFilter{PlanID: &plan}) // it passes by newer tasks
	for _, name := range []string{"list_runs", "list_failed_runs", "list_unfinished_runs", "list_tasks"} {
		require.Contains(t, e.names, name)
	}
}
