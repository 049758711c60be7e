package commands

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
)

func newStatus(env cli.Environment) *cobra.Command {
	c := newClient(env)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the replicas, the runs that have not ended, and who writes the stream",
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.ask(cmd, func(ctx context.Context, s *store.Store) error {
				schema, err := s.SchemaVersion(ctx)
				if err != nil {
					return err
				}
				status, err := s.Status(ctx)
				if err != nil {
					return err
				}
				if c.out.Document() {
					return c.out.Write(cmd, statusDocument(schema, status), cli.Table{})
				}
				return writeDeployment(cmd.OutOrStdout(), &c.out, schema, status)
			})
		},
	}
	c.registerPatience(cmd.Flags(), quickPatience)
	return cmd
}

// statusDocument is the JSON form.
func statusDocument(schema int64, status store.Status) any {
	type streamStatus struct {
		ReplicaID string `json:"replica_id"` // who last began to write it, "" for nobody yet
		Live      bool   `json:"live"`
	}
	type runCounts struct {
		Pending       int64 `json:"pending"`
		Available     int64 `json:"available"`
		Running       int64 `json:"running"`
		FailedLastDay int64 `json:"failed_last_day"` // for good; counting ends at 10,000
	}
	return struct {
		SchemaVersion int64                 `json:"schema_version"`
		LatestVersion int                   `json:"latest_version"` // that this program knows
		Stream        streamStatus          `json:"stream"`
		Runs          runCounts             `json:"runs"`
		Replicas      []store.ReplicaStatus `json:"replicas"`
		NotifyQueue   float64               `json:"notify_queue"` // how full the server's is, 0 to 1; from 0.5 on nothing is notified
	}{
		schema, migrations.Version(),
		streamStatus{status.StreamWriter, writer(status) != nil},
		runCounts{status.Pending, status.Available, status.Running, status.FailedLastDay},
		status.Replicas,
		status.NotifyQueue,
	}
}

// writer is the live replica that writes the stream; nil: there is none.
func writer(status store.Status) *store.ReplicaStatus {
	for i, replica := range status.Replicas {
		if replica.Stream && replica.Live {
			return &status.Replicas[i]
		}
	}
	return nil
}

func writeDeployment(w io.Writer, out *cli.Output, schema int64, status store.Status) error {
	stream := "nobody writes it"
	if replica := writer(status); replica != nil {
		stream = "written by " + replica.ReplicaID
	}
	failed := strconv.FormatInt(status.FailedLastDay, 10)
	if status.FailedLastDay >= store.MaxFailedCount {
		failed += " or more"
	}
	_, err := fmt.Fprintf(w, "schema  version %d of %d\nstream  %s\nruns    %d PENDING, %d AVAILABLE, %d RUNNING; %s failed for good in the last 24 hours\n\n",
		schema, migrations.Version(), cli.Printable(stream), status.Pending, status.Available, status.Running, failed)
	if err != nil {
		return err
	}
	if status.NotifyQueue >= store.NotifyQueueLimit {
		if _, err := fmt.Fprintf(w, "the server's notification queue is %.0f %% full: nothing is notified until it drains, runs are found by sweeps\n\n",
			status.NotifyQueue*100); err != nil {
			return err
		}
	}
	if len(status.Replicas) == 0 {
		_, err := fmt.Fprintln(w, "no replica: start one with `rowrun serve`")
		return err
	}
	return out.WriteParts(w, replicaTable(status.Replicas))
}

func replicaTable(replicas []store.ReplicaStatus) cli.Table {
	t := cli.Table{
		Columns: []cli.Column{
			cli.Free("REPLICA"), cli.Free("NAME"), cli.Free("VERSION").Spare(), cli.Whole("STATE"), cli.Whole("HEARTBEAT"), cli.Whole("RUNNING"),
			cli.Free("QUEUES").Spare(), cli.Free("TYPES").Spare(), cli.Free("DATABASES").Spare(), cli.Free("COMMANDS").Spare(), cli.Free("ID").Wide(),
		},
		None: "no replica: start one with `rowrun serve`",
	}
	for _, r := range replicas {
		state := r.State
		if r.PausedAt != nil && state == "ACTIVE" {
			state += ", paused"
		}
		if !r.Live && state != "DEAD" {
			state += ", silent for too long"
		}
		now := time.Now()
		heard := now.Add(-store.Milliseconds(max(r.SilentMS, 0))) // by the database's clock it was that long ago
		t.Rows = append(t.Rows, []string{
			shortReplica(r.ReplicaID), r.Name, r.Version, state, cli.Age(now, &heard), fmt.Sprintf("%d of %d", r.Running, r.Concurrency),
			strings.Join(r.Queues, ","), strings.Join(r.Types, ","), strings.Join(r.Databases, ","), strings.Join(r.Commands, ","), r.ReplicaID,
		})
		t.Names = append(t.Names, r.ReplicaID)
	}
	return t
}
