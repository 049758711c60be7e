package commands

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// What is said of a flag that several commands have is what its variable means. Those named here are told in other words,
// and mean the same.
func TestNoVariableMeansTwoThings(t *testing.T) {
	t.Parallel()
	same := map[string]bool{"ROWRUN_CONFIG": true, "ROWRUN_CONCURRENCY": true, "ROWRUN_HTTP_ADDR": true, "ROWRUN_HTTP_TOKEN": true, "ROWRUN_HELP": true}
	meant, by := map[string]string{}, map[string]string{}
	cli.VisitVariables(Root(cli.Environment{}), func(name string, cmd *cobra.Command, flag *pflag.Flag) {
		if same[name] {
			return
		}
		if usage, ok := meant[name]; ok {
			require.Equal(t, usage, flag.Usage, "%s is %s's and %s's", name, by[name], cmd.CommandPath())
		}
		meant[name], by[name] = flag.Usage, cmd.CommandPath()
	})
	for _, name := range []string{
		"ROWRUN_STALE_AFTER", "ROWRUN_FORMAT", "ROWRUN_STATUS", "ROWRUN_OUTPUT", "ROWRUN_WEBHOOK_ALLOW_CIDR", "ROWRUN_WEBHOOK_CREATE_FORMAT",
		"ROWRUN_WEBHOOK_UPDATE_FORMAT", "ROWRUN_WEBHOOK_LIST_PROJECT", "ROWRUN_PLAN_LIST_PROJECT", "ROWRUN_RUN_LIST_STATUS", "ROWRUN_TASK_DEFINE_TIMEOUT",
	} {
		require.Contains(t, meant, name)
	}
	require.Equal(t, "rowrun stream", by["ROWRUN_FORMAT"])
}

// Variables that were set for something else write nothing into a row.
func TestVariablesOfOthersChangeNoWebhook(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	variables := map[string]string{
		"DATABASE_URL": url, "ROWRUN_FORMAT": "text", "ROWRUN_PROJECT": "shop", "ROWRUN_URL": "http://127.0.0.1:8484", "ROWRUN_NAME": "mine",
		"ROWRUN_WEBHOOK_CREATE_SECRET_REF": "env:SECRET",
	}
	got := rowrun(t.Context(), t, variables, "webhook", "create", "https://hooks.example/")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	got = rowrun(t.Context(), t, variables, "webhook", "update", "1", "--enabled=false")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	var row string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT concat_ws(' ', project, format, url, name = '', secret_ref) FROM rowrun.webhook`).Scan(&row))
	require.Equal(t, "default standard https://hooks.example/ t env:SECRET", row)
}
