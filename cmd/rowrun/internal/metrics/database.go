package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowrun/rowrun/store"
)

// fresh is how old an answer of the database may be that is told again.
const fresh = 15 * time.Second

// database tells what the database was asked. Without an answer only its up metric is told: a gauge that stands still
// would look well.
type database struct {
	config                                                      Config
	up, runs, oldest, overdue, overdueFor, replicas, queue, lag *prometheus.Desc
	admins, recovering, backlog                                 *prometheus.Desc
	orphanTypes, orphans, deliveries, stopped, missed, stale    *prometheus.Desc

	mu     sync.Mutex // held while asking: scrapes share the answer
	at     time.Time
	health store.Health
	err    error
}

func newDatabase(config Config) *database {
	return &database{
		config:      config,
		up:          desc("store_up", "1 if the database answered when it was last asked, at a scrape and at most every 15 seconds."),
		runs:        desc("store_waiting_runs", "Runs of the deployment that wait, by status and type; counting ends at 10,000 of each status.", "status", "type"),
		oldest:      desc("store_oldest_available_seconds", "How long the oldest AVAILABLE run has waited; of the 10,000 that were counted."),
		overdue:     desc("store_overdue_pending_runs", "PENDING runs that have been due for more than ten seconds and that no replica has looked at, up to 10,000."),
		overdueFor:  desc("store_overdue_pending_seconds", "How long the oldest of them has been overdue."),
		replicas:    desc("store_live_replicas", "Replicas of the deployment that claim runs and whose lease is in force."),
		admins:      desc("store_live_admins", "Replicas of the deployment with the role admin whose lease is in force."),
		queue:       desc("store_notify_queue_usage_ratio", "How full the server's notification queue is, 0 to 1."),
		orphanTypes: desc("store_orphan_types", "Task types of which runs wait that no live replica could run."),
		orphans:     desc("store_orphan_runs", "Such runs, as far as the last look counted them."),
		deliveries:  desc("store_oldest_pending_delivery_seconds", "How long the oldest PENDING webhook delivery has waited, by what for: url or secret that the replica at it lacks (unready), another try (refused), its webhook to be enabled (disabled), a replica (due). 0: none.", "reason"),
		stopped:     desc("store_stopped_schedules", "Tasks whose schedule was paused by itself, as it can't be followed any more."),
		missed:      desc("store_missed_schedules", "Schedules with a tick that should have started over a minute ago, and whose run is overdue or AVAILABLE."),
		stale:       desc("store_stale_runs", "RUNNING runs of replicas and workers whose lease is over, up to 10,000."),
		recovering:  desc("store_recovering", "1 while the deployment recovers from an outage: what was due when a replica was back is being started."),
		backlog:     desc("store_recovery_backlog_runs", "Overdue runs that it has still to start, up to 100,000."),
		lag:         desc("store_slot_lag_bytes", "How far the deployment's replication slot is behind. Missing where there is none."),
	}
}

// Describe implements prometheus.Collector.
func (d *database) Describe(ch chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{d.up, d.runs, d.oldest, d.overdue, d.overdueFor, d.replicas, d.queue, d.lag, d.orphanTypes, d.orphans, d.deliveries, d.stopped, d.missed, d.stale, d.admins, d.recovering, d.backlog} {
		ch <- one
	}
}

// Collect implements prometheus.Collector.
func (d *database) Collect(ch chan<- prometheus.Metric) {
	health, err := d.ask()
	gauge(ch, d.up, truth(err == nil))
	if err != nil {
		return
	}
	waiting := map[[2]string]int64{}
	for _, status := range []string{"PENDING", "AVAILABLE"} {
		for _, kind := range d.config.Types {
			waiting[[2]string{status, kind}] = 0
		}
	}
	for _, w := range health.Waiting {
		waiting[[2]string{w.Status, label(d.config.Types, w.Type)}] += w.Runs
	}
	for labels, runs := range waiting {
		gauge(ch, d.runs, float64(runs), labels[0], labels[1])
	}
	gauge(ch, d.oldest, health.OldestAvailable.Seconds())
	gauge(ch, d.overdue, float64(health.Overdue))
	gauge(ch, d.overdueFor, health.OverdueFor.Seconds())
	gauge(ch, d.replicas, float64(health.LiveReplicas))
	gauge(ch, d.admins, float64(health.LiveAdmins))
	gauge(ch, d.queue, health.NotifyQueue)
	gauge(ch, d.orphanTypes, float64(health.OrphanTypes))
	gauge(ch, d.orphans, float64(health.Orphans))
	for reason, age := range health.OldestDelivery {
		gauge(ch, d.deliveries, age.Seconds(), reason)
	}
	gauge(ch, d.stopped, float64(health.StoppedSchedules))
	gauge(ch, d.missed, float64(health.MissedSchedules))
	gauge(ch, d.stale, float64(health.Stale))
	gauge(ch, d.recovering, truth(health.Recovery != nil))
	backlog := 0.0
	if health.Recovery != nil {
		backlog = float64(health.Recovery.Remaining)
	}
	gauge(ch, d.backlog, backlog)
	if health.SlotLag != nil {
		gauge(ch, d.lag, float64(*health.SlotLag))
	}
}

func (d *database) ask() (store.Health, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.at.IsZero() && time.Since(d.at) < fresh {
		return d.health, d.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	failedBefore := d.err != nil
	d.health, d.err = d.config.Store.Health(ctx)
	d.at = time.Now()
	if d.err != nil && !failedBefore {
		d.config.Log.Warn().Str("error", store.Reason(d.err)).Msg("metrics of the database could not be read")
	}
	return d.health, d.err
}
