package replica_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/replica"
)

// nowhere is a valid address: none of these tests comes to connect.
const nowhere = "postgres://someone:hunter2@127.0.0.1:1/app"

func TestMistakesAreRefusedBeforeAnythingIsStarted(t *testing.T) {
	t.Parallel()
	done := replica.ExecutorFunc(func(context.Context, *replica.TaskRun) (replica.Result, error) { return replica.Result{}, nil })
	for _, c := range []struct {
		url    string
		change func(*replica.Config)
		says   string
	}{
		{"", nil, "replica: the url of Run is empty; accepted: postgres://user@host:5432/database or host=… dbname=…"},
		{"postgres://u:hunter2/x@h:1/db", nil, "replica: the url of Run: not a connection string; accepted: postgres://"},
		{nowhere + "?sslmode=verify-full&sslrootcert=/does/not/exist", nil, "replica: the url of Run: names a file that can't be used: open /does/not/exist"},
		{nowhere, func(c *replica.Config) { c.DirectURL = "port=hunter2" }, "replica: DirectURL: not a connection string"},
		{nowhere, func(c *replica.Config) { c.Executors = nil }, "replica: at least one executor is required"},
		{nowhere, func(c *replica.Config) { c.Executors["COMMAND"] = done }, "replica: executors: COMMAND is a type of `rowrun serve`; accepted: types of your own"},
		{nowhere, func(c *replica.Config) { c.Executors["OTHER"] = nil }, `replica: executors: that of "OTHER" is nil`},
		{nowhere, func(c *replica.Config) { c.Executors["OTHER"] = replica.ExecutorFunc(nil) }, `replica: executors: that of "OTHER" is nil`},
		{nowhere, func(c *replica.Config) { c.Executors["a\nb"] = done }, `replica: executors: "a\nb" is not accepted; accepted: names without control characters`},
		{nowhere, func(c *replica.Config) { c.Name = strings.Repeat("x", 201) }, "replica: name: has 201 bytes; accepted: at most 200"},
		{nowhere, func(c *replica.Config) { c.Queues = []string{"default", ""} }, "replica: queues: a name is empty"},
		{nowhere, func(c *replica.Config) { c.Concurrency = -1 }, "replica: concurrency: -1 is not accepted; accepted: 1 to 10000"},
		{nowhere, func(c *replica.Config) { c.DrainTimeout = -time.Second }, "replica: drain timeout must be above zero"},
		{nowhere, func(c *replica.Config) { c.Retention = -time.Second }, "replica: retention must be above zero"},
		{nowhere, func(c *replica.Config) { c.StaleAfter = 999 * time.Millisecond }, "replica: stale after: 999ms is not accepted; accepted: 1s to 24h0m0s"},
		{nowhere, func(c *replica.Config) { c.SweepInterval = time.Millisecond }, "replica: sweep interval: 1ms is not accepted; accepted: at least 10ms"},
		{nowhere, func(c *replica.Config) { c.MaxClaimsPerType = -1 }, "replica: max per type: -1 is not accepted; accepted: 1 or more, or 0 for no bound"},
		{nowhere, func(c *replica.Config) { c.TypeConcurrency = map[string]int{mine: -2} }, "a concurrency of -2 is not accepted; accepted: 1 or more"},
		{nowhere, func(c *replica.Config) { c.TypeTimeout = map[string]time.Duration{mine: -time.Hour} }, "a timeout of -1h0m0s is not accepted; accepted: a duration, or 0 for none"},
		{nowhere, func(c *replica.Config) { c.TypeConcurrency = map[string]int{"": 1} }, "replica: type limits: a name is empty"},
		{nowhere, func(c *replica.Config) { c.Reserve = map[int]int{50: 0} }, "replica: reserved slots must be above zero"},
		{nowhere, func(c *replica.Config) { c.Concurrency, c.Reserve = 5, map[int]int{50: 4, 100: 2} }, "replica: more slots are reserved (6) than there are (5)"},
		{nowhere, func(c *replica.Config) { c.RecoveryConcurrency, c.Reserve = 3, map[int]int{50: 4} }, "replica: recovery concurrency: more slots are reserved (4) than there are (3)"},
		{nowhere, func(c *replica.Config) { c.Reserve = map[int]int{1 << 31: 1} }, "replica: slots are reserved for priority 2147483648; accepted: -2147483648 to 2147483647"},
		{nowhere, func(c *replica.Config) { c.Recovery = "on" }, `replica: recovery: "on" is not accepted; accepted: auto, off`},
		{nowhere, func(c *replica.Config) { c.RecoveryConcurrency = -1 }, "replica: recovery concurrency: -1 is not accepted"},
		{nowhere, func(c *replica.Config) { c.RecoveryRate = -1 }, "replica: recovery rate: -1 is not accepted; accepted: runs per second, or 0 for no cap"},
		{nowhere, func(c *replica.Config) { c.MaxConns = 4 }, "replica: max conns: 4 is not accepted; accepted: 5 to 1000"},
	} {
		config := replica.Config{Executors: map[string]replica.Executor{mine: done}}
		if c.change != nil {
			c.change(&config)
		}
		err := replica.Run(t.Context(), c.url, config)
		require.ErrorContains(t, err, c.says)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// What is exported is promised: another name is another promise.
func TestExportedNamesAreThePromise(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	notTests := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), ".", notTests, 0) //nolint:staticcheck // no build tags here
	require.NoError(t, err)
	for _, file := range packages["replica"].Files {
		for name := range file.Scope.Objects { //nolint:staticcheck // of this package alone
			if ast.IsExported(name) {
				found[name] = true
			}
		}
	}
	require.Equal(t, []string{
		"BadInput", "Config", "ErrCanceled", "ErrDrained", "ErrStuck", "Executor", "ExecutorFunc", "Failure", "Result", "Run", "Snooze", "TaskRun",
	}, slices.Sorted(maps.Keys(found)))
}
