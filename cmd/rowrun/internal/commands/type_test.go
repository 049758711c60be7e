package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestTypeCommands(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	does := func(want string, args ...string) {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"type"}, args...)...)
		require.Equal(t, cli.ExitDone, got.Code, "%v: %s", args, got.Stderr)
		require.Regexp(t, want, got.Stdout, "%v", args)
	}
	refuses := func(code int, want string, args ...string) {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"type"}, args...)...)
		require.Equal(t, code, got.Code, "%v: %s", args, got.Stdout)
		require.Contains(t, got.Stderr, want, "%v", args)
	}
	rowruntest.Change(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types) VALUES ('r', clock_timestamp(), '1 hour', '{NOOP}');
		INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP'), (2, 'OLD');
		INSERT INTO rowrun.task_run (task_id) VALUES (1), (2), (2); UPDATE rowrun.task_run SET status = 'AVAILABLE'`)
	does(`^TYPE +REPLICAS +TASKS +PENDING +AVAILABLE +RUNNING +ORPHANS *\nNOOP +1 +1 +0 +1 +0 +0 *\nOLD +0 +1 +0 +2 +0 +2 +no live replica runs these\n$`, "list")

	refuses(cli.ExitFailed, "not drained after 300ms: 1 replicas still claim type NOOP, 0 runs of it are RUNNING", "drain", "NOOP", "--timeout", "300ms")
	does(`NOOP +1 .* drained: nothing new is claimed\n`, "list")
	does("^claimed again\n$", "resume", "NOOP")
	does("^drained\n$", "drain", "OLD") // nobody runs it
	does("^claimed again\n$", "resume", "OLD")

	does("^OLD is run by NOOP\n$", "alias", "OLD", "NOOP", "--map", `{"a": "b", "c": null}`)
	does(`OLD .* run by NOOP\n`, "list")
	refuses(cli.ExitUsage, "accepted: a JSON object of names or null", "alias", "OLD", "NOOP", "--map", `{"a": 1}`)
	refuses(cli.ExitUsage, "give OLD and NEW", "alias", "OLD")
	refuses(cli.ExitFailed, "type OLD can't be run by SQL", "alias", "OLD", "SQL")
	does("^OLD is run by itself\n$", "alias", "OLD", "--remove")

	refuses(cli.ExitUsage, "2 runs of type OLD would be canceled; add --yes", "purge", "OLD")
	does(`"canceled": 0`, "purge", "OLD", "--older-than", "1h", "--yes", "-o", "json")
	does("^2 canceled\n$", "purge", "OLD", "--yes")
	var canceled int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM rowrun.task_run WHERE status = 'CANCELED' AND result ->> 'detail' = 'Task run canceled: type OLD was purged'`).Scan(&canceled))
	require.Equal(t, 2, canceled)
}
