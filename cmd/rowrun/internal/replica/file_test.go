package replica

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/scheduler"
)

func TestFileNamesTargetsAndCommands(t *testing.T) {
	t.Parallel()
	path := rowruntest.ConfigFile(t, `
databases: {orders: {url: env:ORDERS_URL, lock_timeout: 5s, statement_timeout: 10m}}
commands: {report: {path: /usr/bin/report, args: ["--day", "{day}"], types: {day: date}}}
`)
	c, err := parse(map[string]string{"DATABASE_URL": rowruntest.SomeURL, "ORDERS_URL": "postgres://orders/x"}, "--config", path)
	require.NoError(t, err)
	require.Equal(t, map[string]FileDatabase{"orders": {
		URL: "postgres://orders/x", LockTimeout: FileDuration(5 * time.Second), StatementTimeout: FileDuration(10 * time.Minute),
	}}, c.File.Databases)
	require.Equal(t, map[string]fileCommand{"report": {
		Path: "/usr/bin/report", Args: []string{"--day", "{day}"}, Types: map[string]string{"day": "date"},
	}}, c.File.Commands)
	require.Equal(t, []string{"NOOP", "SQL", "DATABASE_MIGRATE", "COMMAND"}, c.Types)
}

func TestFileBoundsTypes(t *testing.T) {
	t.Parallel()
	path := rowruntest.ConfigFile(t, "types: {REPORT: {concurrency: 2, timeout: 2h}, IMPORT: {timeout: 0}, MAIL: {concurrency: 10000}}")
	c, err := parse(map[string]string{"DATABASE_URL": rowruntest.SomeURL}, "--config", path, "--max-claims-per-type", "5")
	require.NoError(t, err)
	long, none := 2*time.Hour, time.Duration(0)
	require.Equal(t, map[string]scheduler.TypeLimit{
		"REPORT": {Concurrency: 2, Timeout: &long}, "IMPORT": {Timeout: &none}, "MAIL": {Concurrency: 10000},
	}, c.File.typeLimits())
	require.Equal(t, 5, c.MaxClaimsPerType)
}

func TestEmptyFileIsAccepted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing yet\n", "databases:\n", "databases: {}\n"} {
		c, err := ReadFile(rowruntest.ConfigFile(t, text))
		require.NoError(t, err, text)
		require.Empty(t, c.Databases)
	}
}

func TestWrongFileIsWrongUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, says string }{
		{"unknown key", "database: {}", `line 1: unknown key "database"; accepted: databases, databases_from, commands, types, webhook_secrets`},
		{"unknown key of a target", "databases:\n  a:\n    url: x\n    lock-timeout: 1s", `line 4: unknown key "lock-timeout"; accepted: url, engine, lock_timeout, statement_timeout`},
		{"unknown key of a command", "commands: {a: {path: /x, shell: y}}", `unknown key "shell"; accepted: path, args, types, env, dir`},
		{"bad duration", "databases: {a: {url: x, lock_timeout: 5}}", `line 1: "5" is not accepted; accepted: a duration`},
		{"a timeout that no server takes", "databases:\n  a:\n    url: x\n    lock_timeout: 720h", "line 3: lock_timeout: 720h0m0s is not accepted; accepted: at most 596h31m23.647s"},
		{"the same for a fleet", "databases_from: [{file: x, statement_timeout: 720h}]", "line 1: statement_timeout: 720h0m0s is not accepted"},
		{"no url", "databases: {a: {lock_timeout: 5s}}", "databases.a.url is missing"},
		{"no path", "commands: {a: {args: []}}", "commands.a.path is missing"},
		{"a webhook's secret itself", "webhook_secrets: [whsec_eA==]", "webhook_secrets: an entry is neither env:NAME nor file:PATH"},
		{"unknown key of a type", "types: {REPORT: {limit: 2}}", `line 1: unknown key "limit"; accepted: concurrency, timeout`},
		{"no room for a type", "types: {REPORT: {concurrency: 0}}", `line 1: "0" is not accepted; accepted: 1 to 10000`},
		{"room that is no number", "types: {REPORT: {concurrency: two}}", `line 1: "two" is not accepted; accepted: 1 to 10000`},
		{"bad timeout of a type", "types: {REPORT: {timeout: -2h}}", `line 1: "-2h" is not accepted; accepted: a duration`},
		{"a type about which nothing is said", "types: {REPORT: }", "types.REPORT says nothing; accepted: concurrency, timeout"},
		{"a type without a name", "types: {'': {concurrency: 1}}", "types: a name is empty"},
		{"null target", "databases: {a: }", "databases.a.url is missing"},
		{"a list", "[1, 2]", "a mapping is expected here, with the keys databases, databases_from, commands, types, webhook_secrets, shards"},
		{"twice", "commands: {}\ncommands: {}", "already defined"},
		{"two documents", "commands: {}\n---\ncommands: {}", "a second one follows"},
		{"no YAML", "\t{", "found character that cannot start any token"},
		{"unset variable", "databases: {a: {url: env:NOT_THERE}}", "databases.a.url: env:NOT_THERE names a variable that is not set"},
		{"bad url", "databases: {a: {url: 'postgres://u:hunter2/x@h/db'}}", "databases.a.url: not a connection string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(map[string]string{"DATABASE_URL": rowruntest.SomeURL}, "--config", rowruntest.ConfigFile(t, c.text))
			require.ErrorAs(t, err, new(*cli.UsageError))
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}
