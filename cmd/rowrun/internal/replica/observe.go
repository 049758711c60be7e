package replica

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/metrics"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/tracing"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

// makeMetrics makes what counts. What it tells of other parts is asked for at each scrape.
func (r *replica) makeMetrics() (err error) {
	var types []string
	for name := range r.executors.byType {
		types = append(types, name)
	}
	r.metrics, err = metrics.New(metrics.Config{
		Store:       r.store,
		Deployment:  r.deployment,
		Shard:       r.process.shard,
		Types:       types,
		Concurrency: r.config.slots(),
		Version:     r.config.Version,
		Polls:       r.config.Wake == "poll",
		Replica:     func() scheduler.Status { return r.scheduler.Status() },
		Wake:        r.wakeMetrics,
		Stream:      r.streamMetrics,
		Started:     r.started,
		Log:         r.log,
	})
	return err
}

func (r *replica) wakeMetrics() metrics.Wake {
	stats := r.listener.Stats()
	return metrics.Wake{
		Source: r.wakeSource(), Connected: r.listener.Connected(),
		Reconnects: stats.Reconnects, Undecodable: stats.Undecodable, Skipped: stats.Skipped,
	}
}

func (r *replica) streamMetrics() metrics.Stream {
	stats := r.history.Stats()
	gaps, last := r.follower.gaps()
	return metrics.Stream{
		Writing: r.writing(), Lines: stats.Lines, Gaps: gaps, LastGap: last, Readers: stats.Readers, Slow: stats.Slow,
	}
}

// newTracer makes a tracer where the variables OTEL_* ask for one, otherwise nil. Variables that are set for all
// programs of a machine and don't fit must not keep a replica from starting.
func newTracer(ctx context.Context, c *Config, log zerolog.Logger) (*tracing.Tracer, error) {
	exporter, err := tracing.FromEnvironment(ctx, c.lookup)
	if err != nil {
		log.Warn().Err(err).Msg("no traces are sent")
		return nil, nil
	}
	if exporter == nil {
		return nil, nil
	}
	return tracing.New(ctx, tracing.Config{Exporter: exporter, Replica: c.ReplicaName, Version: c.Version, Log: log})
}

// unablePatience is how long a replica may be unable to claim before it isn't ready.
const unablePatience = 10 * time.Second

// readiness says when a replica takes work: the database takes writes and has
// the schema, and this replica's lease is in force. How it is woken is told,
// and no condition: sweeps find everything, only later.
func readiness(s *store.Store, replica *scheduler.Scheduler, lease time.Duration, wake, stream func() string) []server.Check {
	return []server.Check{
		{Name: "database", Ask: func(ctx context.Context) error {
			err := s.Writable(ctx)
			switch {
			case err == nil, errors.Is(err, store.ErrStandby), errors.Is(err, store.ErrReadOnly), errors.Is(err, context.DeadlineExceeded),
				errors.Is(err, store.ErrTriggersOff), errors.Is(err, store.ErrRowsHidden):
				return err
			}
			return errors.New(connect.Diagnose(err).Text)
		}},
		{Name: "schema", Ask: func(ctx context.Context) error { return connect.CheckSchema(ctx, s) }},
		{Name: "deployment", Ask: func(context.Context) error {
			if why := replica.Status().Elsewhere; why != "" {
				return errors.New(why)
			}
			return nil
		}},
		{Name: "heartbeat", Ask: func(context.Context) error {
			status := replica.Status()
			switch {
			case status.ReplicaID == "":
				return errors.New("none has been written yet")
			case status.Silent > lease*2/3:
				return fmt.Errorf("none was written for %s", status.Silent.Round(time.Millisecond))
			}
			return nil
		}},
		{Name: "draining", Ask: func(context.Context) error {
			if replica.Status().Draining {
				return errors.New("this replica is shutting down")
			}
			return nil
		}},
		{Name: "executors", Ask: func(context.Context) error { return nil }, Tell: func() string { return hung(replica.Status()) }},
		{Name: "claims", Ask: func(context.Context) error { return unable(replica.Status()) }, Tell: func() string { return claims(replica.Status()) }},
		{Name: "locks", Ask: func(context.Context) error { return nil }, Tell: func() string { return heldUp(replica.Status()) }},
		{Name: "notifications", Ask: func(context.Context) error { return nil }, Tell: func() string { return silent(replica.Status()) }},
		{Name: "wake", Ask: func(context.Context) error { return nil }, Tell: wake},
		{Name: "stream", Ask: func(context.Context) error { return nil }, Tell: stream},
	}
}

// unable says that a replica lives and hasn't been able to claim for a while: its other connections are refused, say, or
// each of its passes runs into a limit.
func unable(s scheduler.Status) error {
	if s.Unable < unablePatience {
		return nil
	}
	return fmt.Errorf("nothing could be claimed for %s: %s", s.Unable.Round(time.Second), s.UnableWhy)
}

// claims says that a replica is paused or an admin, "": it isn't. It is ready all the same: restarting it would undo the pause.
func claims(s scheduler.Status) string {
	if s.Role == store.RoleAdmin {
		return "an admin: nothing is claimed"
	}
	if s.Paused {
		return "paused: nothing new is claimed"
	}
	return ""
}

// heldUp names the sessions whose locks this replica goes without or waits for, "": none. Restarting the replica would
// not help, so that it is ready all the same.
func heldUp(s scheduler.Status) string {
	var all []string
	for _, h := range s.HoldUps {
		all = append(all, h.String())
	}
	return strings.Join(all, "; ")
}

// silent says that nothing is notified, "": it is.
func silent(s scheduler.Status) string {
	if s.NotifyQueue < store.NotifyQueueLimit {
		return ""
	}
	return fmt.Sprintf("the server's notification queue is %.0f %% full: nothing is notified until it drains, runs are found by sweeps", s.NotifyQueue*100)
}

// hung says which executors don't do what they should, "": all do. That is for people and alerts: a replica whose other
// slots work is ready.
func hung(s scheduler.Status) string {
	if s.Stalled == 0 && s.Stuck == 0 {
		return ""
	}
	return fmt.Sprintf("%d stalled: no progress in time; %d ignore their cancel", s.Stalled, s.Stuck)
}

// statusOf is what /status tells.
func statusOf(s *store.Store, replica *scheduler.Scheduler) func(ctx context.Context) server.Status {
	return func(ctx context.Context) server.Status {
		own := replica.Status()
		status := server.Status{
			Status: "running", ReplicaName: own.Name, Running: own.Executing, Completed: own.Completed, Failed: own.Failed,
			HeartbeatFailures: own.HeartbeatFailures, Stalled: own.Stalled, Stuck: own.Stuck, Paused: own.Paused, Role: own.Role,
		}
		if own.Draining {
			status.Status = "draining"
		}
		if own.ReplicaID != "" {
			status.ReplicaID = &own.ReplicaID
		}
		rows, err := s.Replicas(ctx)
		if err != nil {
			return status // null says that the database didn't answer
		}
		if r, err := s.FindRecovery(ctx); err == nil && r != nil {
			status.Recovery = &server.Recovery{
				ID: r.ID, LastSeen: r.LastSeen.UTC(), BeganAt: r.BeganAt.UTC(), Backlog: r.Backlog, Remaining: r.Remaining, Started: r.Started,
				Rate: r.Rate, EstimatedEnd: r.EstimatedEnd,
			}
		}
		status.Replicas = []server.Replica{}
		for _, row := range rows {
			status.Replicas = append(status.Replicas, server.Replica{
				ReplicaID: row.ReplicaID, ReplicaName: row.Name, State: row.State, Live: row.Live, Paused: row.Paused, Role: row.Role,
				Running: row.Running, LastSeen: row.LastHeartbeat.UTC(),
			})
		}
		return status
	}
}
