package rowruntest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
)

// Ends may be written together, and an earlier one later. Jobs that nobody executed, as they were canceled, keep their places.
func TestJobsAreToldInTheOrderOfTheirExecution(t *testing.T) {
	t.Parallel()
	var s sequence
	executors := s.of(map[string]scheduler.Executor{
		"MAIL":  scheduler.ExecutorFunc(func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil }),
		"PANIC": scheduler.ExecutorFunc(func(context.Context, *scheduler.Run) (scheduler.Result, error) { panic("as asked") }),
		"NIL":   nil,
	})
	require.Nil(t, executors["NIL"], "it is refused, not called")
	execute := func(name string, job int64) {
		_, _ = executors[name].Execute(t.Context(), &scheduler.Run{ID: 100 + job, RootID: job})
	}
	execute("MAIL", 5)
	require.Panics(t, func() { execute("PANIC", 3) })
	execute("MAIL", 4)
	execute("MAIL", 5) // again
	jobs := []Job{{ID: 1}, {ID: 5}, {ID: 2}, {ID: 4}, {ID: 3}}
	s.sort(jobs)
	require.Equal(t, []Job{{ID: 1}, {ID: 3}, {ID: 2}, {ID: 4}, {ID: 5}}, jobs)
}
