package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
)

// Config says what to measure, and where.
type Config struct {
	// URL is what the replicas connect to, DirectURL what the bench itself
	// does. Both are required.
	URL, DirectURL string
	// Program is the path of the binary whose command serve is a replica. Required.
	Program string
	// Version is that binary's, for the report.
	Version string

	// Measurements are some of Names; default all.
	Measurements []string
	// Shapes are some of Shapes, what drain runs; default all.
	Shapes []string
	// Runs is the size of drain, gated and pinned: 100 to 10,000,000.
	Runs int
	// Rate is how many runs a second steady, late and bystander insert: 1 to 100,000.
	Rate int
	// Duration is how long steady, late, insert and bystander last in each
	// round; idle lasts five times that: 10 ms to 24 h.
	Duration time.Duration
	// Writers is how many connections insert and bystander use: 1 to 500.
	Writers int
	// Replicas is how many replicas steady has; more than one: besides one alone. 1 to 50.
	Replicas int
	// Rounds is how often each figure is taken; the median counts. 1 to 99.
	Rounds int
	// Concurrency is the replicas' own: 1 to 10,000.
	Concurrency int
	// Yes lets it run beside other replicas and other people's unfinished runs.
	Yes bool

	// Introduced is told what is measured on what, before it is; Each every
	// measurement as soon as it is over. Default: nobody is.
	Introduced func(Report) error
	Each       func(Measurement) error
	Log        zerolog.Logger
}

// measurement is one of Names; it leaves the tables cleared.
type measurement struct {
	name, about string
	run         func(*Bench, context.Context) ([]*Case, error)
}

func measurements() []measurement {
	return []measurement{
		{"drain", "runs inserted beforehand, one replica, from its registration to the last end", (*Bench).drain},
		{"steady", "single inserts at a steady rate, each a transaction of its own", (*Bench).steady},
		{"late", "runs that become due at a steady rate: how long after run_at they start", (*Bench).late},
		{"gated", "a run ends beside many that are blocked: its end, and the promotion of the next one", (*Bench).gated},
		{"insert", "writers insert runs that are due tomorrow, one by one", (*Bench).insert},
		{"burst", "500 runs inserted at once, one replica with 10 slots, from the insert to the last end", (*Bench).burst},
		{"bystander", "an application's own commits in this database", (*Bench).bystander},
		{"idle", "one replica without work", (*Bench).idle},
		{"pinned", "drain, with an old snapshot held open, and after many ended runs were kept", (*Bench).pinned},
	}
}

// Names are the measurements, in their order.
func Names() []string {
	var names []string
	for _, m := range measurements() {
		names = append(names, m.name)
	}
	return names
}

// Bench measures once.
type Bench struct {
	cfg  Config
	name string // of all that it makes

	pool  *pgxpool.Pool
	guard *pgx.Conn // holds the session lock and does nothing else

	first      int64              // runs with a higher id may be the bench's own
	task       int64              // without plan and database
	members    map[string][]int64 // shape → its tasks
	streaming  bool               // its replicas write the stream
	statements string             // pg_stat_statements, with its schema; "" where it can't be read
	served     int                // replicas so far
	notes      []string
}

// New looks at a configuration and completes it. An error says what is accepted.
func New(c Config) (*Bench, error) {
	if c.URL == "" || c.DirectURL == "" || c.Program == "" {
		return nil, errors.New("bench needs a database and a program")
	}
	if len(c.Measurements) == 0 {
		c.Measurements = Names()
	}
	if len(c.Shapes) == 0 {
		c.Shapes = Shapes()
	}
	if c.Duration < 10*time.Millisecond || c.Duration > 24*time.Hour {
		return nil, fmt.Errorf("--duration: %s is not accepted; accepted: 10ms to 24h", c.Duration)
	}
	for _, name := range c.Measurements {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("%q can't be measured; accepted: %s", name, strings.Join(Names(), ", "))
		}
	}
	for _, shape := range c.Shapes {
		if !slices.Contains(Shapes(), shape) {
			return nil, fmt.Errorf("--shape: %q is not accepted; accepted: %s", shape, strings.Join(Shapes(), ", "))
		}
	}
	for _, number := range []struct {
		flag               string
		value, least, most int
	}{
		{"runs", c.Runs, 100, 10_000_000},
		{"rate", c.Rate, 1, 100_000},
		{"writers", c.Writers, 1, 500},
		{"replicas", c.Replicas, 1, 50},
		{"rounds", c.Rounds, 1, 99},
		{"concurrency", c.Concurrency, 1, 10_000},
	} {
		if number.value < number.least || number.value > number.most {
			return nil, fmt.Errorf("--%s: %d is not accepted; accepted: %d to %d", number.flag, number.value, number.least, number.most)
		}
	}
	var digits [4]byte
	if _, err := rand.Read(digits[:]); err != nil {
		return nil, fmt.Errorf("draw a name: %w", err)
	}
	return &Bench{cfg: c, name: prefix + hex.EncodeToString(digits[:]), members: map[string][]int64{}}, nil
}

// Run measures, and removes what it made, also where ctx ends before or
// something fails. A run that is lost or fails is an error, a slow one isn't.
func (b *Bench) Run(ctx context.Context) (report Report, err error) {
	if err := b.connect(ctx); err != nil {
		return report, err
	}
	defer b.disconnect(ctx)
	if err := b.begin(ctx); err != nil {
		return report, err
	}
	defer func() {
		b.cfg.Log.Info().Str("bench", b.name).Msg("removing what the bench made")
		left := b.remove(ctx, b.name)
		if left != nil && ctx.Err() != nil { // who interrupted it is told of nothing but that
			b.cfg.Log.Error().Err(left).Msg("the bench was not removed")
		}
		err = errors.Join(err, left)
	}()
	if report, err = b.introduce(ctx); err != nil {
		return report, err
	}
	if b.cfg.Introduced != nil {
		if err := b.cfg.Introduced(report); err != nil {
			return report, err
		}
	}
	for _, m := range measurements() {
		if !slices.Contains(b.cfg.Measurements, m.name) {
			continue
		}
		b.cfg.Log.Info().Str("measurement", m.name).Msg("measuring")
		b.notes = []string{}
		begun := time.Now()
		cases, err := m.run(b, ctx)
		if err != nil {
			return report, fmt.Errorf("%s: %w", m.name, err)
		}
		done := Measurement{Name: m.name, About: m.about, Cases: cases, Notes: b.notes, Seconds: time.Since(begun).Seconds()}
		report.Measurements = append(report.Measurements, done)
		if b.cfg.Each != nil {
			if err := b.cfg.Each(done); err != nil {
				return report, err
			}
		}
	}
	return report, nil
}

// note adds a sentence to the measurement under way, once.
func (b *Bench) note(text string) {
	if !slices.Contains(b.notes, text) {
		b.notes = append(b.notes, text)
	}
}

// program says which binary measures itself.
func (b *Bench) program() Program {
	return Program{Version: b.cfg.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU()}
}
