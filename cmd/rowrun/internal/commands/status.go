package commands

import (
	"context"
	"fmt"
	"io"
	"slices"
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
	var check checkup
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show on one screen whether all is well, what runs, what waits and why, and what failed last",
		Long: "Shows on one screen whether all is well, what runs, what waits and why, and what failed last.\n\n" +
			"With --check it is a plug-in for Nagios, Icinga, Zabbix and their kin: one line with performance data, and exit code 0 (OK),\n" +
			"1 (WARNING), 2 (CRITICAL; also where the database can't be reached or takes no writes) or 3 (UNKNOWN; also for wrong use and\n" +
			"for a schema of another version). It asks the database alone, as a member of rowrun_viewer: no replica needs to live.\n" +
			"Thresholds are ranges of monitoring plug-ins, [@][start:][end], one (critical) or two (warning,critical); of --min-replicas\n" +
			"a number alone is the least, elsewhere the most.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check.on {
				return check.run(cmd, &c)
			}
			return c.ask(cmd, c.standing(cmd))
		},
	}
	c.registerPatience(cmd.Flags(), quickPatience)
	check.register(cmd.Flags())
	cli.PlugIn(cmd, "check")
	return c.watched(cmd)
}

// standing shows how the deployment stands.
func (c *client) standing(cmd *cobra.Command) func(context.Context, *store.Store) error {
	return func(ctx context.Context, s *store.Store) error {
		schema, err := s.SchemaVersion(ctx)
		if err != nil {
			return err
		}
		status, err := s.Status(ctx)
		if err != nil {
			return err
		}
		now, err := readSituation(ctx, s, schema, status)
		if err != nil {
			return err
		}
		if !c.out.ForPeople() {
			return c.out.Write(cmd, statusDocument(schema, status, now), replicaTable(status.Replicas))
		}
		return writeDeployment(cmd.OutOrStdout(), &c.out, schema, status, now)
	}
}

// statusDocument is the JSON form.
func statusDocument(schema int64, status store.Status, now situation) any {
	type streamStatus struct {
		ReplicaID string `json:"replica_id"` // who last began to write it, "" for nobody yet
		Live      bool   `json:"live"`
	}
	type runCounts struct {
		Pending       int64 `json:"pending"`   // counting ends at 1,000,000
		Available     int64 `json:"available"` // the same
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
		situation
	}{
		schema, migrations.Version(),
		streamStatus{status.StreamWriter, writer(status) != nil},
		runCounts{status.Pending, status.Available, status.Running, status.FailedLastDay},
		status.Replicas,
		status.NotifyQueue,
		now,
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

func writeDeployment(w io.Writer, out *cli.Output, schema int64, status store.Status, now situation) error {
	stream := "nobody writes it"
	if replica := writer(status); replica != nil {
		stream = "written by " + replica.ReplicaID
	}
	_, err := fmt.Fprintf(w, "%s\nschema  version %d of %d\nstream  %s\nruns    %s PENDING, %s AVAILABLE, %d RUNNING; %s failed for good in 24 h\n\n",
		verdict(out.Screen(w), now.Problems), schema, migrations.Version(), fitted(out.Screen(w), cli.Printable(stream)),
		upTo(status.Pending, store.MaxUnfinishedCount), upTo(status.Available, store.MaxUnfinishedCount), status.Running, upTo(status.FailedLastDay, store.MaxFailedCount))
	if err != nil {
		return err
	}
	return out.WriteParts(w, now.runningTable(status.Running), now.waitingTable(), now.failedTable(), replicaTable(status.Replicas))
}

// upTo is a count that ended at most.
func upTo(n, most int64) string {
	text := strconv.FormatInt(n, 10)
	if n >= most {
		text += " or more"
	}
	return text
}

// withEngines are a replica's databases, each that is not PostgreSQL with its engine.
func withEngines(r store.ReplicaStatus) []string {
	names := slices.Clone(r.Databases)
	for i, name := range names {
		if engine := r.Engines[name]; engine != "" {
			names[i] += " (" + engine + ")"
		}
	}
	return names
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
		if r.Role == store.RoleAdmin {
			state += ", admin"
		}
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
			strings.Join(r.Queues, ","), strings.Join(r.Types, ","), strings.Join(withEngines(r), ","), strings.Join(r.Commands, ","), r.ReplicaID,
		})
		t.Names = append(t.Names, r.ReplicaID)
	}
	return t
}
