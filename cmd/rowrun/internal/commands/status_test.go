package commands

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestStatusShowsReplicasRunsAndTheStream(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, variables := rowruntest.Connect(t, url), map[string]string{"DATABASE_URL": url}
	got := rowrun(t.Context(), t, variables, "status")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "stream  nobody writes it\n")
	require.Contains(t, got.Stdout, "no replica lives: start one with `rowrun serve`")

	s := startServing(t, url, "--replica-name", "one", "--types", "NOOP", "--drain-timeout", "100ms")
	s.awaitReady(t)
	insertRun(t, conn, "NOOP", `{"sleep": "1h"}`, nil)
	failed := insertRun(t, conn, "NOOP", `{"fail": "no"}`, nil)
	awaitStatus(t, conn, insertRun(t, conn, "MINE", "{}", nil), "AVAILABLE")
	awaitStatus(t, conn, failed, "FAILED")

	var status struct {
		SchemaVersion int `json:"schema_version"`
		Stream        struct {
			ReplicaID string `json:"replica_id"`
			Live      bool
		}
		Runs struct {
			Pending, Available, Running int
			FailedLastDay               int `json:"failed_last_day"`
		}
		Replicas []struct {
			ReplicaID string `json:"replica_id"`
			Name      string
			Live      bool
			Running   int
			Types     []string
		}
	}
	rowruntest.Eventually(t, "the stream has its writer", func() bool {
		got = rowrun(t.Context(), t, variables, "status", "-o", "json")
		require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
		require.NoError(t, json.Unmarshal([]byte(got.Stdout), &status))
		return status.Stream.Live && status.Runs.Running == 1
	})
	require.Equal(t, migrations.Version(), status.SchemaVersion)
	require.Zero(t, status.Runs.Pending)
	require.Equal(t, 1, status.Runs.Available)
	require.Equal(t, 1, status.Runs.FailedLastDay)
	require.Len(t, status.Replicas, 1)
	require.Equal(t, status.Stream.ReplicaID, status.Replicas[0].ReplicaID)
	require.Equal(t, "one", status.Replicas[0].Name)
	require.Equal(t, 1, status.Replicas[0].Running)
	require.Equal(t, []string{"NOOP"}, status.Replicas[0].Types)

	got = rowrun(t.Context(), t, variables, "status")
	require.Contains(t, got.Stdout, "stream  written by "+status.Stream.ReplicaID+"\n")
	require.Contains(t, got.Stdout, "runs    0 PENDING, 1 AVAILABLE, 1 RUNNING; 1 failed for good in 24 h\n")
	require.Regexp(t, `one +\S+ +ACTIVE +(now|\d+ s ago) +1 of 20 +default +NOOP`, got.Stdout)

	rowruntest.Change(t, conn, "UPDATE rowrun.replica_heartbeat SET last_heartbeat = now() - interval '1 hour'")
	got = rowrun(t.Context(), t, variables, "status")
	require.Contains(t, got.Stdout, "ACTIVE, silent for too long")
	require.Contains(t, got.Stdout, "stream  nobody writes it\n")
}
