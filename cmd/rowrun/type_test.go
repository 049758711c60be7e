package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

func TestTypeCommands(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := connect(t, url), map[string]string{"DATABASE_URL": url}
	does := func(want string, args ...string) {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"type"}, args...)...)
		require.Equal(t, exitDone, got.code, "%v: %s", args, got.stderr)
		require.Regexp(t, want, got.stdout, "%v", args)
	}
	refuses := func(code int, want string, args ...string) {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"type"}, args...)...)
		require.Equal(t, code, got.code, "%v: %s", args, got.stdout)
		require.Contains(t, got.stderr, want, "%v", args)
	}
	change(t, conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types) VALUES ('r', clock_timestamp(), '1 hour', '{NOOP}');
		INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP'), (2, 'OLD');
		INSERT INTO rowrun.task_run (task_id) VALUES (1), (2), (2); UPDATE rowrun.task_run SET status = 'AVAILABLE'`)
	does(`^TYPE +REPLICAS +TASKS +PENDING +AVAILABLE +RUNNING +ORPHANS *\nNOOP +1 +1 +0 +1 +0 +0 *\nOLD +0 +1 +0 +2 +0 +2 +no live replica runs these\n$`, "list")

	refuses(exitFailed, "not drained after 300ms: 1 replicas still claim type NOOP, 0 runs of it are RUNNING", "drain", "NOOP", "--timeout", "300ms")
	does(`NOOP +1 .* drained: nothing new is claimed\n`, "list")
	does("^claimed again\n$", "resume", "NOOP")
	does("^drained\n$", "drain", "OLD") // nobody runs it
	does("^claimed again\n$", "resume", "OLD")

	does("^OLD is run by NOOP\n$", "alias", "OLD", "NOOP", "--map", `{"a": "b", "c": null}`)
	does(`OLD .* run by NOOP\n`, "list")
	refuses(exitUsage, "accepted: a JSON object of names or null", "alias", "OLD", "NOOP", "--map", `{"a": 1}`)
	refuses(exitUsage, "give OLD and NEW", "alias", "OLD")
	refuses(exitFailed, "task_type_alias_harmless", "alias", "OLD", "SQL")
	does("^OLD is run by itself\n$", "alias", "OLD", "--remove")

	refuses(exitUsage, "2 runs of type OLD would be canceled; add --yes", "purge", "OLD")
	does(`"canceled": 0`, "purge", "OLD", "--older-than", "1h", "--yes", "-o", "json")
	does("^2 canceled\n$", "purge", "OLD", "--yes")
	var canceled int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM rowrun.task_run WHERE status = 'CANCELED' AND result ->> 'detail' = 'Task run canceled: type OLD was purged'`).Scan(&canceled))
	require.Equal(t, 2, canceled)
}
