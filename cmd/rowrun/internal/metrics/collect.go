package metrics

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowrun/rowrun/store"
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("rowrun_"+name, help, labels, nil)
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func count(ch chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
}

// buildInfo is the help of a metric that each process has.
const buildInfo = "Always 1; which version runs."

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// replica tells what this process knows of itself at the moment of a scrape.
type replica struct {
	config                                              Config
	info, role, age, slots, used, draining              *prometheus.Desc
	missed, stalled, stuck                              *prometheus.Desc
	source, connected, reconnects, undecodable, skipped *prometheus.Desc
	writing, lines, gaps, lastGap                       *prometheus.Desc
	readers, droppedReaders                             *prometheus.Desc
}

func newReplica(config Config) *replica {
	return &replica{
		config:         config,
		info:           desc("build_info", buildInfo, "version"),
		role:           desc("scheduler_role", "1 for the role of this replica: worker, or admin, which claims nothing.", "role"),
		age:            desc("scheduler_heartbeat_age_seconds", "For how long this replica has written no heartbeat. Missing before the first one and after a fence."),
		slots:          desc("scheduler_slots", "How many runs this replica executes at once, at most."),
		used:           desc("scheduler_slots_used", "How many runs this replica executes."),
		draining:       desc("scheduler_draining", "1 while this replica takes nothing new."),
		missed:         desc("scheduler_heartbeat_failures_total", "Heartbeats that could not be written."),
		stalled:        desc("scheduler_stalled_executors", "Executors whose run reported no progress in time, and that have not returned."),
		stuck:          desc("scheduler_stuck_executors", "Executors that ignore their cancel; each keeps its slot."),
		source:         desc("events_wake_source", "1 for the way in which this replica is woken.", "source"),
		connected:      desc("events_connected", "1 while notifications are heard."),
		reconnects:     desc("events_reconnects_total", "Connections that listened, after the first."),
		undecodable:    desc("events_undecodable_total", "Notifications that are not of Rowrun's form."),
		skipped:        desc("events_skipped_total", "Notifications that were not read because there were too many."),
		writing:        desc("stream_writing", "1 for the replica that writes the stream."),
		lines:          desc("stream_lines_total", "Lines of the stream that this replica saw: as its writer, or while somebody reads its /events."),
		gaps:           desc("stream_gaps_total", "Gap lines that this replica wrote as the stream's writer: transitions may be missing there."),
		lastGap:        desc("stream_last_gap_timestamp_seconds", "When it wrote the last of them. Missing where it wrote none."),
		readers:        desc("stream_readers", "Readers of this replica's /events."),
		droppedReaders: desc("stream_dropped_readers_total", "Readers that were dropped because they were too slow."),
	}
}

// Describe implements prometheus.Collector.
func (r *replica) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		r.info, r.role, r.age, r.slots, r.used, r.draining, r.missed, r.stalled, r.stuck, r.source, r.connected, r.reconnects, r.undecodable, r.skipped,
		r.writing, r.lines, r.gaps, r.lastGap, r.readers, r.droppedReaders,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (r *replica) Collect(ch chan<- prometheus.Metric) {
	gauge(ch, r.info, 1, r.config.Version)
	status := r.config.Replica()
	for _, role := range []string{store.RoleWorker, store.RoleAdmin} {
		gauge(ch, r.role, truth(status.Role == role), role)
	}
	if status.ReplicaID != "" {
		gauge(ch, r.age, status.Silent.Seconds())
	}
	gauge(ch, r.slots, float64(cmp.Or(status.Slots, r.config.Concurrency))) // more in a recovery
	gauge(ch, r.used, float64(status.Executing))
	gauge(ch, r.draining, truth(status.Draining))
	count(ch, r.missed, float64(status.HeartbeatFailures))
	gauge(ch, r.stalled, float64(status.Stalled))
	gauge(ch, r.stuck, float64(status.Stuck))
	wake := r.config.Wake()
	for _, source := range wakeSources() {
		gauge(ch, r.source, truth(wake.Source == source), source)
	}
	gauge(ch, r.connected, truth(wake.Connected))
	count(ch, r.reconnects, float64(wake.Reconnects))
	count(ch, r.undecodable, float64(wake.Undecodable))
	count(ch, r.skipped, float64(wake.Skipped))
	if r.config.Stream == nil {
		return
	}
	stream := r.config.Stream()
	gauge(ch, r.writing, truth(stream.Writing))
	count(ch, r.lines, float64(stream.Lines))
	count(ch, r.gaps, float64(stream.Gaps))
	if !stream.LastGap.IsZero() {
		gauge(ch, r.lastGap, float64(stream.LastGap.UnixMilli())/1000)
	}
	gauge(ch, r.readers, float64(stream.Readers))
	count(ch, r.droppedReaders, float64(stream.Slow))
}

// pool tells how the connections to the database are used.
type pool struct {
	store                *store.Store
	conns, waits, waited *prometheus.Desc
}

func newPool(s *store.Store) *pool {
	return &pool{
		store:  s,
		conns:  desc("store_pool_connections", "Connections to the database, the listening one left aside: max (the limit), open, used.", "state"),
		waits:  desc("store_pool_waits_total", "How often a connection had to be waited for."),
		waited: desc("store_pool_wait_seconds_total", "How long connections were waited for, in all."),
	}
}

// Describe implements prometheus.Collector.
func (p *pool) Describe(ch chan<- *prometheus.Desc) {
	ch <- p.conns
	ch <- p.waits
	ch <- p.waited
}

// Collect implements prometheus.Collector.
func (p *pool) Collect(ch chan<- prometheus.Metric) {
	stats := p.store.PoolStats()
	gauge(ch, p.conns, float64(stats.Max), "max")
	gauge(ch, p.conns, float64(stats.Open), "open")
	gauge(ch, p.conns, float64(stats.Used), "used")
	count(ch, p.waits, float64(stats.Waits))
	count(ch, p.waited, stats.WaitedFor.Seconds())
}
