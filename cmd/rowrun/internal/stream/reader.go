package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

const (
	// chunk is how many transitions are read and printed at once, and how many
	// new runs one look asks for.
	chunk = 2000
	// between is the least time between two passes: what comes meanwhile is
	// read together. The first after a quiet while is read at once.
	between = 6 * time.Millisecond
	// settle is how long what was announced just now may take to arrive.
	settle = 100 * time.Millisecond
	// behind is when a look for inserts is repeated: one announcement stands for
	// all that commit within some ms, also for those just behind it.
	behind = 30 * time.Millisecond
	// quiet is how long nothing may come before idle means idle.
	quiet = time.Second
	// trusted is how long a connection that went silent may seem to be there:
	// what was committed before then has been heard.
	trusted = 10 * time.Second
	// straddle is how long a transaction may take from its change of status to its commit, where it can't be told
	// whether it had committed at a moment.
	straddle = 2 * time.Second
	// mendPause is Config's default.
	mendPause = 10 * time.Second
	// lull is the pause between passes when many have had nothing to print, as somebody says look without end.
	lull         = 50 * time.Millisecond
	queryTimeout = 10 * time.Second
	historyPage  = 1000
	// historyTimeout bounds the sequential read of all runs.
	historyTimeout = 5 * time.Minute
)

// Config says what a Reader reads and how.
type Config struct {
	// Store is the database. Required.
	Store Store
	// Hub tells the transitions. Required.
	Hub *events.Hub
	// Connected says whether notifications are heard. Required.
	Connected func() bool
	// Printer gets the lines. Required.
	Printer *Printer
	// Own are rows that needn't be read, as this process has written them; nil: none.
	Own *Own
	// Log is told of trouble.
	Log zerolog.Logger
	// Since above zero: what the rows know of the time before comes first.
	Since time.Duration
	// From, where not nil: what the rows know of the time since that point comes first, instead of Since.
	From *store.StreamPoint
	// UntilIdle ends the reader when nothing came for a second, and no run is AVAILABLE, RUNNING, or PENDING and due.
	UntilIdle bool
	// Gap, where not empty, is the reason of a gap in the beginning.
	Gap string
	// Look is how often to look for inserts when nothing is announced. Default 5 s.
	Look time.Duration
	// memory, where not nil, is what this process or the one that left the stream to it has printed.
	memory *printed
	// left: From and memory are those of a writer that left the stream to this one.
	left bool
	// Buffer is how many transitions are held while the output or the database is slow. Default 300,000.
	Buffer int
	// mendPause is the least time between two looks at all rows for what was not read or not notified. Default 10 s.
	mendPause time.Duration
	// Random gives numbers from 0 on, below 1, which keep apart in time what several replicas do that failed together.
	// Default: by chance.
	Random func() float64
}

// Reader prints one stream. It subscribes when it is made; Close it.
type Reader struct {
	config  Config
	batches *events.Batches

	begun   bool
	inserts *inserts
	printed *printed
	// deferred are successors whose predecessor's end was not printed yet, by the predecessor.
	deferred map[int64]successor

	batch  events.Batch // what was taken and is not printed yet
	lookAt time.Time    // when to look again though nothing is announced
	soon   bool         // lookAt is soon, because of an announcement
	said   string       // the trouble that was logged last

	at      atomic.Pointer[heardPoint] // everything before it was heard; nil: no point is known
	atTaken time.Time                  // when at was
	fresh   *heardPoint                // will be at when the connection has held for trusted
	taken   time.Time                  // when fresh was

	floor  floor
	turned moment    // when the memory of what was printed turned last
	owes   bool      // rows are to be looked at as a whole
	owed   string    // behind a gap with this reason; "": without one
	mendAt time.Time // not before
	untold untold
	vain   allowance // of passes
	futile allowance // of rows read
}

// floor is a moment: of a run that isn't remembered, all that was committed before it was told.
type floor struct {
	at   time.Time
	seen store.Seen
}

type moment struct {
	store.StreamPoint
	taken time.Time
}

// heardPoint is a point, and how many lines had been printed then.
type heardPoint struct {
	store.StreamPoint
	lines uint64
}

// New checks a configuration and subscribes: what is told from now on will be
// printed by Run.
func New(config Config) (*Reader, error) {
	switch {
	case config.Store == nil || config.Hub == nil || config.Connected == nil || config.Printer == nil:
		return nil, errors.New("stream: a store, a hub, its connection and a printer are required")
	case config.Since < 0 || config.Look < 0 || config.Buffer < 0:
		return nil, errors.New("stream: times and buffer must not be negative")
	}
	if config.Look == 0 {
		config.Look = 5 * time.Second
	}
	if config.Buffer == 0 {
		config.Buffer = 300000
	}
	if config.memory == nil {
		config.memory = newPrinted()
	}
	if config.mendPause == 0 {
		config.mendPause = mendPause
	}
	if config.Random == nil {
		config.Random = rand.Float64
	}
	return &Reader{
		config: config, batches: config.Hub.SubscribeBatches(config.Buffer),
		printed: config.memory, deferred: map[int64]successor{},
		vain: allowance{rate: 40, burst: 200}, futile: allowance{rate: 5000, burst: 20000},
	}, nil
}

// Close ends the subscription. Run must have returned.
func (r *Reader) Close() { r.batches.Close() }

// Run prints until ctx ends (nil), the output fails (ErrOutput), or all is idle
// where that was asked for (nil). It waits for the connection first, and for
// the database whenever it is away. Run again, it goes on where it was.
func (r *Reader) Run(ctx context.Context) error {
	if err := r.begin(ctx); err != nil || !r.begun {
		return err
	}
	heard := time.Now()
	for ctx.Err() == nil {
		came, err := r.next(ctx)
		if err != nil {
			return nil //nolint:nilerr // only the end of ctx is one
		}
		if err := r.pass(ctx); err != nil {
			return err
		}
		if came || !r.config.UntilIdle {
			heard = time.Now()
			continue
		}
		if time.Since(heard) < quiet || !r.idle(ctx) {
			continue
		}
		// What ended just before the database was asked may still be under way.
		if r.take(ctx); !r.pendingBatch() {
			return r.settle(ctx)
		}
		heard = time.Now()
	}
	return nil
}

// drain prints what still comes within some tenths of a second, after Run was
// stopped and while notifications are still heard.
func (r *Reader) drain(ctx context.Context) error {
	for ctx.Err() == nil && r.begun {
		if !r.pendingBatch() && !r.take(ctx) {
			return nil
		}
		if err := r.pass(ctx); err != nil {
			return err
		}
	}
	return nil
}

// left is how far the stream was written, for the next writer; nil: too much was since a moment that is known.
func (r *Reader) left() *store.StreamHandover {
	at := r.at.Load()
	if !r.begun && r.config.left { // stopped before it had told all that the one before has left
		at = &heardPoint{*r.config.From, 0}
	}
	if at == nil || len(r.printed.since) > handLimit {
		return nil
	}
	return &store.StreamHandover{Point: at.StreamPoint, Runs: r.printed.since, Unseen: r.unseen()}
}

// unseen are the ids of which no run was seen: those of transactions that are open, among them.
func (r *Reader) unseen() []store.Span {
	if !r.begun {
		return r.printed.unseen
	}
	return r.inserts.ranges()
}

// next waits for something to do: a batch, or the time to look. came: lines may
// come of it.
func (r *Reader) next(ctx context.Context) (came bool, err error) {
	if r.pendingBatch() { // of a Run before
		return true, nil
	}
	rest := between
	if r.vain.allowed() == 0 {
		rest = lull
	}
	if err := pause(ctx, rest); err != nil {
		return false, err
	}
	due := r.lookAt
	if r.owes && r.mendAt.Before(due) {
		due = r.mendAt
	}
	if r.config.UntilIdle {
		if t := time.Now().Add(quiet / 4); t.Before(due) {
			due = t
		}
	}
	wait, cancel := context.WithDeadline(ctx, due)
	defer cancel()
	batch, err := r.batches.Next(wait)
	if err != nil {
		return false, ctx.Err() // otherwise it is time to look
	}
	r.batch = batch
	return true, nil
}

// take waits a little for one batch more.
func (r *Reader) take(ctx context.Context) bool {
	wait, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	batch, err := r.batches.Next(wait)
	if err != nil {
		return false
	}
	r.batch = batch
	return true
}

func (r *Reader) pendingBatch() bool {
	return r.batch.Gap != "" || r.batch.Skipped || len(r.batch.Reached) > 0
}

// allowance is how much may be done in vain: so much a second, and after a rest so much at once. What came of somebody's
// true word costs nothing.
type allowance struct {
	rate, burst float64
	spent       float64
	at          time.Time
}

// allowed is what is left, in whole numbers.
func (a *allowance) allowed() int {
	now := time.Now()
	a.spent = max(0, a.spent-a.rate*now.Sub(a.at).Seconds())
	a.at = now
	return int(max(0, a.burst-a.spent))
}

func (a *allowance) take(n int) { a.spent += float64(n) }

func (a *allowance) spend(vain bool) {
	if vain {
		a.take(1)
	}
}

// idle asks the database. An answer that it can't give is none.
func (r *Reader) idle(ctx context.Context) bool {
	idle := false
	_ = r.retry(ctx, queryTimeout, func(ctx context.Context) (err error) {
		idle, err = r.config.Store.StreamIdle(ctx)
		return err
	})
	return idle
}

// retry repeats what the database must answer until it does, or ctx ends. Each
// try is given limit.
func (r *Reader) retry(ctx context.Context, limit time.Duration, ask func(context.Context) error) error {
	err := repeat(ctx, limit, r.config.Random, ask, func(err error) {
		if code := store.SQLState(err); r.said != "failed"+code {
			r.said = "failed" + code
			r.config.Log.Warn().Err(err).Msg("stream can't read runs; trying again")
		}
	})
	if err == nil {
		r.said = ""
	}
	return err
}

func repeat(ctx context.Context, limit time.Duration, random func() float64, ask func(context.Context) error, failed func(error)) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		limited, cancel := context.WithTimeout(ctx, limit)
		err := ask(limited)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed(err)
		if err := pause(ctx, sooner(wait, 0.5, random)); err != nil {
			return err
		}
	}
}

// sooner is at least that part of a wait: what began or failed together, at several replicas, doesn't go on together.
func sooner(d time.Duration, least float64, random func() float64) time.Duration {
	return time.Duration(float64(d) * (least + (1-least)*random()))
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
