package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestLimitCommands(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	does := func(want string, args ...string) {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"limit"}, args...)...)
		require.Equal(t, cli.ExitDone, got.Code, "%v: %s", args, got.Stderr)
		require.Regexp(t, want, got.Stdout, "%v", args)
	}
	refuses := func(code int, want string, args ...string) {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"limit"}, args...)...)
		require.Equal(t, code, got.Code, "%v: %s", args, got.Stdout)
		require.Contains(t, got.Stderr, want, "%v", args)
	}
	does("^$", "list") // says so on standard error
	does(`tenants .* customer.id +5 `, "set", "tenants", "--key", "customer.id", "--max-running", "5")
	does(`tenants .* customer.id +3 `, "set", "tenants", "--max-running", "3")
	does(`"max_running": null`, "set", "tenants", "--max-running", "none", "-o", "json")
	does(`mailer +EMAIL .* 100/1m0s +20 `, "set", "mailer", "--type", "EMAIL", "--rate", "100/1m", "--burst", "20")
	does(`"burst": 10,`, "set", "mailer", "--burst", "10", "-o", "json")
	does(`"rate": null,(.|\n)*"burst": null`, "set", "mailer", "--rate", "none", "-o", "json")
	does(`"not_before": "20`, "set", "mailer", "--not-before", "2h", "-o", "json")
	does(`"not_before": null`, "set", "mailer", "--not-before", "none", "-o", "json")
	does(`"share": "FAIR",(.|\n)*"weights": {(.|\n)*"a=b": 2,(.|\n)*"gold": 3.5`, "set", "tenants", "--share", "fair", "--weight", "gold=3.5", "--weight", "a=b=2", "-o", "json")
	does(`tenants .* FAIR +0 `, "set", "tenants", "--weight", "gold=2")
	does(`"share": "NONE",(.|\n)*"weights": {}`, "set", "tenants", "--share", "none", "--weight", "none", "-o", "json")
	for _, wrong := range [][]string{
		{"--share", "some"},
		{"--weight", "gold"},
		{"--weight", "gold=0"},
		{"--weight", "gold=NaN"},
		{"--weight", "gold=1001"},
		{"--rate", "100"},
		{"--rate", "0/1s"},
		{"--rate", "5/soon"},
		{"--max-running", "-1"},
		{"--burst", "0"},
		{"--not-before", "soon"},
	} {
		refuses(cli.ExitUsage, wrong[0]+": ", append([]string{"set", "x"}, wrong...)...)
	}
	refuses(cli.ExitFailed, "burst of a limit goes with a rate", "set", "x", "--burst", "5")
	refuses(cli.ExitFailed, "a limit with share FAIR needs key_path", "set", "x", "--share", "fair")
	rowruntest.Change(t, conn, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('full', '{k}', 0);
		INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP'); INSERT INTO rowrun.task_run (task_id, input) VALUES (1, '{"k": "acme"}'), (1, '{"k": "acme"}')`)
	does(`full .* 0 +2 *\n`, "list")
	does(`acme +0 +2 `, "show", "full")
	does(`"key": "acme"`, "show", "full", "-o", "json")
	refuses(cli.ExitFailed, `there is no limit "x"`, "show", "x")
	refuses(cli.ExitFailed, `there is no limit "x"`, "delete", "x")
	does("^deleted\n$", "delete", "full")
}
