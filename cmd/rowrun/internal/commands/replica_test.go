package commands

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestReplicaCommands(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	does := func(want string, args ...string) {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"replica"}, args...)...)
		require.Equal(t, cli.ExitDone, got.Code, "%v: %s", args, got.Stderr)
		require.Regexp(t, want, got.Stdout, "%v", args)
	}
	refuses := func(code int, want string, args ...string) {
		t.Helper()
		got := rowrun(t.Context(), t, variables, append([]string{"replica"}, args...)...)
		require.Equal(t, code, got.Code, "%v: %s", args, got.Stdout)
		require.Contains(t, got.Stderr, want, "%v", args)
	}
	s := startServing(t, url, "--replica-name", "one", "--types", "NOOP", "--sweep-interval", "50ms", "--heartbeat-interval", "200ms")
	s.awaitReady(t)
	does(`^REPLICA +NAME .*\none-\S+ +one +\S+ +ACTIVE +(now|\d+ s ago)`, "list")

	does(`^one-\S+\n$`, "pause", "one")
	rowruntest.Eventually(t, "the replica follows", func() bool {
		code, body := s.status(t, "/readyz")
		var ready struct {
			Checks map[string]struct{ Detail string }
		}
		require.NoError(t, json.Unmarshal([]byte(body), &ready))
		return code == 200 && ready.Checks["claims"].Detail == "paused: nothing new is claimed"
	})
	rowruntest.Eventually(t, "the status says so", func() bool {
		_, body := s.status(t, "/status")
		var status struct {
			Status   string
			Paused   bool
			Replicas []struct{ Paused, Live bool }
		}
		require.NoError(t, json.Unmarshal([]byte(body), &status))
		return status.Status == "running" && status.Paused && len(status.Replicas) == 1 && status.Replicas[0].Paused && status.Replicas[0].Live
	})
	does(`one +\S+ +ACTIVE, paused +`, "list")
	does(`"paused_at": "\d{4}-`, "list", "-o", "json")
	run := insertRun(t, conn, "NOOP", "{}", nil)
	awaitStatus(t, conn, run, "AVAILABLE")

	does(`"paused": false,\s+"replica_ids": \[\s+"one-\S+"`, "resume", "one", "-o", "json")
	awaitStatus(t, conn, run, "DONE")
	does(`"paused_at": null`, "list", "-o", "json")
	rowruntest.Eventually(t, "nothing is left of it", func() bool {
		code, body := s.status(t, "/readyz")
		return code == 200 && !strings.Contains(body, "paused")
	})

	refuses(cli.ExitFailed, "there is no live replica two: `rowrun replica list` shows their ids and names", "pause", "two")
	refuses(cli.ExitUsage, "REPLICA", "pause")
	refuses(cli.ExitFailed, "there is no live replica two", "drain", "two")
	does(`^one-\S+\n$`, "drain", "one")
	require.Equal(t, cli.ExitDone, <-s.code, "it stops as after SIGTERM")
	rowruntest.Change(t, conn, "INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, name, state) VALUES ('one-1', now(), 'one', 'DEAD')")
	refuses(cli.ExitFailed, "there is no live replica one", "resume", "one")
}

// Members of rowrun_operator may pause a replica, and nobody below them.
func TestPauseIsForOperators(t *testing.T) {
	t.Parallel()
	conn := rowruntest.Connect(t, storetest.New(t))
	rowruntest.Change(t, conn, "INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat) VALUES ('r', now())")
	for role, may := range map[string]bool{
		"rowrun_operator": true, "rowrun_author": false, "rowrun_client": false, "rowrun_viewer": false, "rowrun_replica": false,
	} {
		for _, call := range []string{"pause_replica('r')", "resume_replica('r')", "drain_replica('r')", "set_replica_paused('r', true)"} {
			rowruntest.Change(t, conn, "SET ROLE "+role)
			_, err := conn.Exec(t.Context(), "SELECT rowrun."+call)
			rowruntest.Change(t, conn, "RESET ROLE")
			if may && call != "set_replica_paused('r', true)" {
				require.NoError(t, err, "%s %s", role, call)
			} else {
				require.ErrorContains(t, err, "42501", "%s %s", role, call)
			}
		}
	}
}
