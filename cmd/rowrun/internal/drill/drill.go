package drill

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

const (
	// prefix of every drill's name.
	prefix = "rowrun_drill_"
	// Type is what the drill's own workers run, and nobody else does.
	Type = "ROWRUN_DRILL"
)

// Config says what is lost, and where.
type Config struct {
	// URL is what the workers connect to, DirectURL what the drill itself does. Both are required.
	URL, DirectURL string
	// Program is the path of the binary, and Args its words before a worker reads its orders. Required, unless ByHand.
	Program string
	Args    []string
	Version string // of the program, for the report

	// ByHand has a person stop and start replicas that serve the queue; Ask is called once, and returns when they were
	// stopped. Required together.
	ByHand bool
	Ask    func(ctx context.Context, text string) error
	// Queue is where it happens; "": one named like the drill.
	Queue string
	// Workers is how many of its own there are, 1 to 20, and Jobs how many runs, at least one for each, at most 1,000.
	Workers, Jobs int
	// Lease is that of its own workers, 1 s to 1 h.
	Lease time.Duration
	// StaleSweep is how often the deployment's replicas look for dead ones, 10 ms to 1 h.
	StaleSweep time.Duration
	// Slack is added to each deadline, for slow machines and networks, 1 s to 1 h.
	Slack time.Duration
	// Patience is how long people are waited for, 1 s to 24 h.
	Patience time.Duration
	// MetricsURLs are endpoints that must tell of the outage too.
	MetricsURLs []string
	// Alone lets the workers be the deployment's only replicas although others' work waits.
	Alone bool

	// Health is asked how the deployment stands, Check holds that against the thresholds of `rowrun status --check`.
	// Required.
	Health func(ctx context.Context) (store.Health, error)
	Check  func(store.Health) (code int, text string)

	// Each is told of every step when it is over, and Waiting what is waited for. Default: nobody is.
	Each    func(Step)
	Waiting func(text string)
	Log     zerolog.Logger
}

// Drill happens once.
type Drill struct {
	cfg     Config
	name    string
	queue   string
	kind    string // type of its runs
	pool    *pgxpool.Pool
	guard   *pgx.Conn // holds the session lock and does nothing else
	task    int64
	lease   time.Duration // the longest of the workers that are lost
	others  int           // replicas and admins of others that live
	workers []*worker
	sources []*source
	health  store.Health // as it was read
	read    time.Time
	report  Report
}

// New looks at a configuration. An error says what is accepted.
func New(c Config) (*Drill, error) {
	if c.URL == "" || c.DirectURL == "" || c.Health == nil || c.Check == nil || c.ByHand && c.Ask == nil || !c.ByHand && c.Program == "" {
		return nil, errors.New("drill needs a database, its health, and a program or somebody to ask")
	}
	if err := c.checkSizes(); err != nil {
		return nil, err
	}
	if len(c.Queue) > 100 {
		return nil, fmt.Errorf("--drill-queue: has %d bytes; accepted: at most 100", len(c.Queue))
	}
	if err := c.completeURLs(); err != nil {
		return nil, err
	}
	if c.Each == nil {
		c.Each = func(Step) {}
	}
	if c.Waiting == nil {
		c.Waiting = func(string) {}
	}
	var digits [4]byte
	if _, err := rand.Read(digits[:]); err != nil {
		return nil, fmt.Errorf("draw a name: %w", err)
	}
	d := &Drill{cfg: c, name: prefix + hex.EncodeToString(digits[:]), kind: Type, lease: c.Lease}
	d.queue = d.name
	if c.Queue != "" {
		d.queue = c.Queue
	}
	if c.ByHand {
		d.kind = "NOOP" // what every sidecar runs
	}
	return d, nil
}

// checkSizes refuses counts and times that are out of their range.
func (c *Config) checkSizes() error {
	for _, count := range []struct {
		flag               string
		value, least, most int
	}{{"workers", c.Workers, 1, 20}, {"jobs", c.Jobs, max(1, c.Workers), 1000}} {
		if count.value < count.least || count.value > count.most {
			return fmt.Errorf("--%s: %d is not accepted; accepted: %d to %d", count.flag, count.value, count.least, count.most)
		}
	}
	for _, d := range []struct {
		flag               string
		value, least, most time.Duration
	}{
		{"lease", c.Lease, time.Second, time.Hour},
		{"stale-sweep-interval", c.StaleSweep, 10 * time.Millisecond, time.Hour},
		{"slack", c.Slack, time.Second, time.Hour},
		{"patience", c.Patience, time.Second, 24 * time.Hour},
	} {
		if d.value < d.least || d.value > d.most {
			return fmt.Errorf("--%s: %s is not accepted; accepted: %s to %s", d.flag, d.value, d.least, d.most)
		}
	}
	return nil
}

// completeURLs gives each endpoint its usual path.
func (c *Config) completeURLs() error {
	c.MetricsURLs = slices.Clone(c.MetricsURLs)
	for i, text := range c.MetricsURLs {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return errors.New("--metrics-url: is not accepted; accepted: addresses such as http://127.0.0.1:8484/metrics, without a login")
		}
		if u.Path == "" {
			u.Path = "/metrics"
		}
		c.MetricsURLs[i] = u.String()
	}
	return nil
}

// Run has the outage, and removes what it made, also where ctx ends before or something fails. A step that isn't passed is no
// error: the report says so.
func (d *Drill) Run(ctx context.Context) (report Report, err error) {
	if err := d.connect(ctx); err != nil {
		return report, err
	}
	defer d.disconnect(ctx)
	if err := d.begin(ctx); err != nil {
		return report, err
	}
	err = d.outage(ctx)
	cleaned := time.Now()
	for _, w := range d.workers {
		w.stop()
	}
	if left := d.remove(ctx, leftover{d.task, d.name, d.queue}); left != nil {
		if err != nil {
			return d.report, errors.Join(err, left)
		}
		d.add(Step{Name: StepCleaned, Found: left.Error()}, time.Since(cleaned), cleaning, cleaningReason)
	} else if err == nil {
		d.add(Step{Name: StepCleaned, Passed: true, Found: "task, runs and workers are gone"}, time.Since(cleaned), cleaning, cleaningReason)
	}
	if err != nil {
		return d.report, err
	}
	d.report.Passed = !slices.ContainsFunc(d.report.Steps, func(s Step) bool { return !s.Passed })
	return d.report, d.ask(ctx, "-- drill_over\nSELECT clock_timestamp()", nil, &d.report.EndedAt)
}

// add puts a step into the report.
func (d *Drill) add(s Step, after, within time.Duration, reason string) {
	s.AfterMS, s.WithinMS, s.Reason = milliseconds(after), milliseconds(within), reason
	d.report.Steps = append(d.report.Steps, s)
	d.cfg.Each(s)
}

// mode names who stops the workers.
func (d *Drill) mode() string {
	if d.cfg.ByHand {
		return ModeByHand
	}
	return ModeWorkers
}

func (d *Drill) program() Program {
	return Program{Version: d.cfg.Version, Platform: runtime.GOOS + "/" + runtime.GOARCH}
}

func milliseconds(d time.Duration) int64 { return d.Milliseconds() }
