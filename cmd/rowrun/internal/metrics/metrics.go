package metrics

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/notifier"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
)

// Config says what is counted and whom to ask.
type Config struct {
	// Store is the database. Required.
	Store *store.Store
	// Deployment is the identity of the deployment, a uuid: its first eight hexadecimal digits stand on every series, as
	// they do in the name of its replication slot. Required.
	Deployment string
	// Shard stands on every series, where not "". What is about the process is then left to Process.
	Shard string
	// Types are those that this replica runs: the label's values. An admin has none.
	Types []string
	// Concurrency is how many runs execute here at once.
	Concurrency int
	// Version is that of the binary.
	Version string
	// Polls says that sweeps are all that was asked for: what they find is no lost wake-up.
	Polls bool
	// Replica is asked for the state of the scheduler at each scrape. Required.
	Replica func() scheduler.Status
	// Wake is asked for how this replica is woken. Required.
	Wake func() Wake
	// Stream is asked for the state of the stream; nil: this replica has none to show.
	Stream func() Stream
	// Started is told how long each run that was claimed here has waited; nil: nobody is.
	Started func(delay time.Duration)
	Log     zerolog.Logger
}

// Wake is how a replica is woken.
type Wake struct {
	Source      string // one of wakeSources
	Connected   bool   // notifications are heard
	Reconnects  uint64
	Undecodable uint64
	Skipped     uint64
}

// wakeSources are the values of Wake.Source: the write-ahead log, notifications, sweeps alone.
func wakeSources() []string { return []string{"wal", "notify", "poll"} }

// Stream is what a replica knows of the stream.
type Stream struct {
	Writing bool // this replica writes it
	Lines   uint64
	Gaps    uint64    // gap lines that it wrote as the stream's writer
	LastGap time.Time // when it wrote the last of them; zero: none
	Readers int       // of /events
	Slow    uint64    // readers that were dropped
}

// Metrics counts. Make it with New, hand its Observer to a scheduler, and Run it.
type Metrics struct {
	config   Config
	registry *prometheus.Registry

	runs      *prometheus.CounterVec // status, type
	promoted  prometheus.Counter
	claimSize prometheus.Histogram
	endSize   prometheus.Histogram
	toStart   prometheus.Histogram
	duration  *prometheus.HistogramVec // type
	sweeps    *prometheus.CounterVec   // sweep
	found     *prometheus.CounterVec   // sweep
	lost      prometheus.Counter
	failures  *prometheus.CounterVec // pass
	stalled   *prometheus.CounterVec // type
	stuck     *prometheus.CounterVec // type
	webhooks  *prometheus.CounterVec // result

	mu      sync.Mutex
	claimed []int64       // a sample of the runs that were claimed since the last question
	wake    chan struct{} // there is something in claimed
}

// latencies are in seconds, from half a millisecond to a quarter of an hour.
func latencies() []float64 {
	return []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900}
}

func sizes() []float64 { return []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} }

// New checks a configuration and registers everything.
func New(config Config) (*Metrics, error) {
	if config.Store == nil || config.Deployment == "" || config.Replica == nil || config.Wake == nil {
		return nil, errors.New("metrics: a store, its deployment, a replica and its wake source are required")
	}
	m := &Metrics{config: config, registry: prometheus.NewRegistry(), wake: make(chan struct{}, 1)}
	m.make()
	// One Prometheus may watch several deployments: what it sums up or takes the largest of belongs to one of them.
	labels := prometheus.Labels{"deployment": shortID(config.Deployment)}
	if config.Shard != "" {
		labels["shard"] = config.Shard
	}
	labeled := prometheus.WrapRegistererWith(labels, m.registry)
	own := []prometheus.Collector{
		m.runs, m.promoted, m.claimSize, m.endSize, m.toStart, m.duration, m.sweeps, m.found, m.lost, m.failures, m.stalled, m.stuck, m.webhooks,
		newReplica(config), newDatabase(config), newPool(config.Store),
	}
	if config.Shard == "" {
		own = append(own, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	for _, c := range own {
		if err := labeled.Register(c); err != nil {
			return nil, errors.New("metrics: " + err.Error())
		}
	}
	return m, nil
}

// shortID is what stands for a deployment in labels and in the name of its slot.
func shortID(uuid string) string {
	digits := strings.ReplaceAll(uuid, "-", "")
	return digits[:min(8, len(digits))]
}

func (m *Metrics) make() {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "rowrun", Name: name, Help: help}
	}
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Namespace: "rowrun", Name: name, Help: help, Buckets: buckets}
	}
	m.runs = prometheus.NewCounterVec(counter("scheduler_runs_total",
		"Runs that this replica took to a status: RUNNING when claimed, DONE, FAILED, CANCELED or SNOOZED (put off by their executor) when their end was recorded."), []string{"status", "type"})
	m.promoted = prometheus.NewCounter(counter("scheduler_promoted_runs_total", "Runs that this replica took from PENDING to AVAILABLE."))
	m.claimSize = prometheus.NewHistogram(histogram("scheduler_claim_batch_runs", "Runs per claim.", sizes()))
	m.endSize = prometheus.NewHistogram(histogram("scheduler_end_batch_runs", "Endings per transaction.", sizes()))
	m.toStart = prometheus.NewHistogram(histogram("scheduler_insert_to_start_seconds",
		"From a run's insert, or its run_at where that is later, to its start, by the database's clock. A sample of at most 200 runs a second.", latencies()))
	m.duration = prometheus.NewHistogramVec(histogram("scheduler_run_duration_seconds", "How long executors took.", latencies()), []string{"type"})
	m.sweeps = prometheus.NewCounterVec(counter("scheduler_sweeps_total", "Sweeps by kind."), []string{"sweep"})
	m.found = prometheus.NewCounterVec(counter("scheduler_sweep_found_runs_total",
		"Runs that sweeps found: work to promote or claim, stale, overdue and stray runs that they ended."), []string{"sweep"})
	m.lost = prometheus.NewCounter(counter("scheduler_lost_wakeups_total", "Sweeps that found work which a wake-up should have brought."))
	m.failures = prometheus.NewCounterVec(counter("scheduler_failed_passes_total", "Passes that failed and are tried again, by pass."), []string{"pass"})
	m.stalled = prometheus.NewCounterVec(counter("scheduler_stalled_runs_total", "Runs that were stopped because they reported no progress in time."), []string{"type"})
	m.stuck = prometheus.NewCounterVec(counter("scheduler_ignored_cancels_total", "Executors that did not return when they were told to stop."), []string{"type"})
	m.webhooks = prometheus.NewCounterVec(counter("notifier_webhook_attempts_total", "Attempts of this replica to deliver a webhook."), []string{"result"})
	// A series that exists from the start shows its first event as a rate.
	for _, kind := range m.config.Types {
		for _, status := range []string{"RUNNING", "DONE", "FAILED", "CANCELED"} {
			m.runs.WithLabelValues(status, kind)
		}
		m.duration.WithLabelValues(kind)
		m.stalled.WithLabelValues(kind)
		m.stuck.WithLabelValues(kind)
	}
	for _, pass := range scheduler.Passes() {
		m.failures.WithLabelValues(pass)
	}
	for _, sweep := range scheduler.Sweeps() {
		m.sweeps.WithLabelValues(string(sweep))
		m.found.WithLabelValues(string(sweep))
	}
	for _, result := range notifier.Outcomes() {
		m.webhooks.WithLabelValues(string(result))
	}
}

// other stands for types that this replica doesn't run: users may name them as they like.
const other = "other"

func (m *Metrics) kind(name string) string { return label(m.config.Types, name) }

func label(known []string, name string) string {
	if slices.Contains(known, name) {
		return name
	}
	return other
}

// Observer counts what a scheduler tells.
func (m *Metrics) Observer() scheduler.Observer {
	o := scheduler.Observer{
		Promoted: func(runs int) { m.promoted.Add(float64(runs)) },
		Claimed:  m.claim,
		Executed: func(kind string, took time.Duration) {
			m.duration.WithLabelValues(m.kind(kind)).Observe(took.Seconds())
		},
		Recorded:   func(endings int) { m.endSize.Observe(float64(endings)) },
		Stalled:    func(kind string) { m.stalled.WithLabelValues(m.kind(kind)).Inc() },
		Stuck:      func(kind string) { m.stuck.WithLabelValues(m.kind(kind)).Inc() },
		Ended:      func(kind, status string) { m.runs.WithLabelValues(status, m.kind(kind)).Inc() },
		PassFailed: func(pass string) { m.failures.WithLabelValues(pass).Inc() },
		Swept: func(sweep scheduler.Sweep, runs int) {
			m.sweeps.WithLabelValues(string(sweep)).Inc()
			m.found.WithLabelValues(string(sweep)).Add(float64(runs))
		},
	}
	if !m.config.Polls {
		o.LostWakeUp = m.lost.Inc
	}
	return o
}

func (m *Metrics) claim(claims []store.Claim) {
	m.claimSize.Observe(float64(len(claims)))
	for i := range claims {
		m.runs.WithLabelValues("RUNNING", m.kind(claims[i].Type)).Inc()
	}
	m.sample(claims)
}

// Webhook counts an attempt.
func (m *Metrics) Webhook(outcome notifier.Outcome) {
	m.webhooks.WithLabelValues(string(outcome)).Inc()
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return handler(m.registry)
}
