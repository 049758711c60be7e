package stream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

const (
	// notYet is how often to ask this process whether there is a connection and
	// a replica id by now.
	notYet = 50 * time.Millisecond
	// stopPatience is how long a connection that is given up waits for the
	// reader: the output may hang.
	stopPatience = time.Second
	// afterFailure is how long a replica whose output failed leaves the stream to others.
	afterFailure = 30 * time.Second

	gapWriterGone = "the replica that wrote the stream is gone"
	gapLogGone    = "the write-ahead log can't be read any more"
	gapNotWritten = "the stream could not be written for a while"
)

// ElectionConfig says who may write, on which connection, and where to.
type ElectionConfig struct {
	// Store, Hub, Connected, Printer and Log are those of the Reader. Required, but for Log.
	Store     Store
	Hub       *events.Hub
	Connected func() bool
	Printer   *Printer
	Log       zerolog.Logger
	// Own is told of this replica's claims and ends; nil: each row is read.
	Own *Own
	// Do runs a function on the listener's connection, as events.Listener.Do does. Required.
	Do func(ctx context.Context, fn func(ctx context.Context, conn *pgx.Conn) error) error
	// ReplicaID is this replica's id, "" while it has none. Required.
	ReplicaID func() string
	// WAL is where lines are read from; nil: from notifications and rows alone.
	// Its Inserted is set here.
	WAL *WALConfig
	// WakeByWAL: while the log is read, INSERTs notify nobody, and this replica wakes the others.
	WakeByWAL bool
	// Noted, where not nil, tells of somebody else's looks at the database: whether there were notes to print. Where none
	// tells for a while the writer looks itself.
	Noted <-chan bool
	// Climb is how often a writer that fell back to rows looks whether the log can be read again. Default 10 s; it doubles,
	// up to 10 min, where that went wrong at once.
	Climb time.Duration
	// Retry is how often a replica that doesn't write tries to. Default 3 s. Shared, where not nil, makes it longer where many try.
	Retry  time.Duration
	Shared func(time.Duration) time.Duration
	// Random gives numbers from 0 on, below 1, which keep apart in time what several replicas do that began or failed together.
	// Default: by chance.
	Random func() float64
}

// Election has one replica of the deployment write the stream at a time.
type Election struct {
	config  ElectionConfig
	holding atomic.Bool
	trouble atomic.Pointer[string] // why the output could not be written; nil: it could
	wal     *WAL
	silence *silence // nil: INSERTs notify

	mu         sync.Mutex
	leadership *leadership // that of the present connection; nil: it has none

	// Run only.
	reader *Reader            // kept over a lost connection
	named  string             // the id that is recorded as the writer
	told   string             // who was last said to write
	said   string             // the trouble that was logged last
	since  *store.StreamPoint // when it became the writer, and has not read the log since
	climbs int                // tries to read the log again that went wrong, in a row
}

// leadership is the time for which one connection holds the lock.
type leadership struct {
	ctx     context.Context
	end     context.CancelFunc
	stopped chan struct{} // closed when nothing is written any more
	id      string        // what is recorded as the writer
	before  string        // who wrote before
	since   store.StreamPoint
}

// NewElection checks a configuration. Its Release must be the OnDisconnect of
// the listener behind Do.
func NewElection(config ElectionConfig) (*Election, error) {
	switch {
	case config.Store == nil || config.Hub == nil || config.Connected == nil || config.Printer == nil ||
		config.Do == nil || config.ReplicaID == nil:
		return nil, errors.New("stream election: everything but Log and Retry is required")
	case config.Retry < 0 || config.Climb < 0:
		return nil, errors.New("stream election: Retry and Climb must not be negative")
	}
	if config.Climb == 0 {
		config.Climb = 10 * time.Second
	}
	if config.Retry == 0 {
		config.Retry = 3 * time.Second
	}
	if config.Random == nil {
		config.Random = rand.Float64
	}
	if config.Shared == nil {
		config.Shared = func(every time.Duration) time.Duration { return every }
	}
	e := &Election{config: config}
	if config.WAL == nil {
		return e, nil
	}
	wal := *config.WAL
	if config.WakeByWAL {
		e.silence = &silence{
			store: config.Store, hub: config.Hub, do: config.Do, log: config.Log, inserted: make(chan struct{}, 1),
		}
		wal.Inserted = e.silence.seen
	}
	var err error
	e.wal, err = newWAL(wal)
	return e, err
}

// Holding says that this replica writes the stream.
func (e *Election) Holding() bool { return e.holding.Load() }

// Trouble says what is wrong with the output, or why nothing comes from the log; "": nothing is wrong.
func (e *Election) Trouble() string {
	if blocked := e.config.Printer.blocked(); blocked > time.Second {
		return fmt.Sprintf("the stream's output waits for its reader for %s", blocked.Round(time.Second))
	}
	if why := e.trouble.Load(); why != nil {
		return "the stream is left to other replicas: " + *why
	}
	if e.wal != nil {
		if why := e.wal.trouble(); why != "" {
			return "the stream waits for the write-ahead log: " + why
		}
	}
	return ""
}

// Waking says that this replica wakes the others by what it reads in the log.
func (e *Election) Waking() bool { return e.silence != nil && e.silence.held.Load() }

// Release ends this replica's leadership with its connection: when it returns,
// nothing more is written, unless the output hangs for longer than a second.
func (e *Election) Release() {
	e.mu.Lock()
	t := e.leadership
	e.leadership = nil
	e.mu.Unlock()
	if t == nil {
		return
	}
	t.end()
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case <-t.stopped:
	case <-patience.C:
	}
}

// Run tries to become the writer, and writes, until ctx ends; then it prints
// what still comes at once, gives the lock back and returns nil. The listener
// must outlive it.
func (e *Election) Run(ctx context.Context) error {
	defer e.forget()
	for part := 0.5; ctx.Err() == nil; part = 0.9 { // those that begin together are apart from then on
		wait := e.round(ctx)
		for !e.unlocked() && pause(ctx, notYet) == nil { // the release has not arrived: nobody else can write
		}
		_ = pause(ctx, sooner(wait, part, e.config.Random))
	}
	return nil
}

// round is one try, with the leadership that may come of it. It returns how long to
// wait before the next.
func (e *Election) round(ctx context.Context) time.Duration {
	id := e.config.ReplicaID()
	if id == "" {
		return notYet
	}
	if !e.config.Printer.ready() {
		if e.trouble.Load() == nil {
			why := "its output takes nothing"
			e.trouble.Store(&why)
			e.config.Log.Warn().Msg("stream is left to the other replicas: nobody reads this one's output")
		}
		return e.config.Retry
	}
	t, writer, err := e.claim(ctx, id)
	switch {
	case errors.Is(err, events.ErrNotConnected):
		return notYet
	case err != nil:
		e.complain(err)
		return min(time.Second, e.config.Retry)
	case t == nil:
		e.said = ""
		e.forget() // what it missed meanwhile is another one's to tell
		if writer != e.told {
			e.told = writer
			e.config.Log.Info().Str("replica_id", writer).Msg("stream is written by another replica")
		}
		return e.config.Shared(e.config.Retry)
	}
	e.said, e.told = "", ""
	e.trouble.Store(nil)
	if err := e.hold(ctx, t); err != nil {
		why := err.Error()
		e.trouble.Store(&why)
		e.config.Log.Error().Err(err).Msg("stream could not be written; it is left to the other replicas")
		e.config.Printer.forget()
		e.forget()
		if e.wal != nil {
			e.wal.printed = newPrinted() // of what was handed to the output, some was not written
		}
		return afterFailure
	}
	return 0
}

// claim tries to get the lock. A nil leadership means that writer has it.
func (e *Election) claim(ctx context.Context, id string) (got *leadership, writer string, err error) {
	err = e.config.Do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		c, err := store.ClaimStream(ctx, conn, id)
		writer = c.Writer
		if err != nil || !c.Held {
			return err
		}
		got = &leadership{stopped: make(chan struct{}), id: id, before: c.Writer, since: c.Point}
		got.ctx, got.end = context.WithCancel(context.Background())
		e.mu.Lock()
		e.leadership = got // Release is called on this goroutine too: never in between
		e.mu.Unlock()
		return nil
	})
	return got, writer, err
}

// hold writes until the leadership, ctx or the output ends; only the last is an error.
func (e *Election) hold(ctx context.Context, t *leadership) (err error) {
	defer t.end()
	defer close(t.stopped)
	before := t.before
	if before == e.named {
		before = "" // nobody but this replica, which goes on where it was
	}
	e.named = t.id
	e.holding.Store(true)
	defer e.holding.Store(false)
	e.config.Log.Info().Str("replica_id", e.named).Msg("this replica writes the stream")

	defer context.AfterFunc(ctx, t.endSoon)()
	run, stop := context.WithCancel(t.ctx)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { e.keepNamed(run) })
	wg.Go(func() { e.printNotes(run) })

	err = e.write(ctx, t, before)
	if t.ctx.Err() == nil {
		e.unlocked()
	}
	return err
}

// write writes from the log, or from rows until the log can be read.
func (e *Election) write(ctx context.Context, t *leadership, before string) error {
	gap, left := e.inherit(t, before)
	for {
		err := errUnfit
		if e.wal != nil {
			began := time.Now()
			if left != nil {
				e.wal.resume, e.wal.renewed, e.wal.printed = &left.Point, false, remembering(left)
				e.wal.printed.whole = t.since.At
			}
			err = e.fromLog(ctx, t, before)
			if e.wal.began {
				gap, left, e.since = gapLogGone, nil, nil
			}
			if time.Since(began) > time.Minute {
				e.climbs = 0
			}
		}
		if !errors.Is(err, errUnfit) {
			return err
		}
		if ctx.Err() != nil || t.ctx.Err() != nil {
			return nil //nolint:nilerr // that is why it failed, or comes with it
		}
		if e.wal != nil {
			left = e.fallBack(err, gap, left)
		}
		climbed, err := e.fromRows(ctx, t, gap, left)
		if !climbed || err != nil || ctx.Err() != nil || t.ctx.Err() != nil {
			return err
		}
		at := e.reader.at.Load()
		e.wal.resume, e.wal.renewed, e.wal.printed = &at.StreamPoint, true, e.reader.printed
		e.wal.printed.unseen = e.reader.unseen()
		e.forget()
		e.config.Log.Info().Msg("stream is read from the write-ahead log again")
		e.climbs++
		before, gap, left = "", gapLogGone, nil
	}
}

// keepNamed records this replica's id again when a fence has given it a new one.
func (e *Election) keepNamed(ctx context.Context) {
	for pause(ctx, time.Second) == nil {
		id := e.config.ReplicaID()
		if id == "" || id == e.named {
			continue
		}
		err := e.config.Do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			return store.NameStreamWriter(ctx, conn, id)
		})
		if err == nil {
			e.named = id
		}
	}
}

// unlocked gives the lock back while the connection goes on, and says whether this replica doesn't have it any more. It must not be
// called by the goroutine that serves Do.
func (e *Election) unlocked() bool {
	if e.leads() {
		ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
		defer cancel()
		_ = e.config.Do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			if !e.leads() {
				return nil // the connection that had it is gone
			}
			e.mu.Lock()
			e.leadership = nil // where the release fails, so does the connection
			e.mu.Unlock()
			return store.ReleaseStream(ctx, conn)
		})
	}
	return !e.leads()
}

// leads says that the present connection has the lock, as far as is known.
func (e *Election) leads() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leadership != nil
}

func (e *Election) forget() {
	if e.reader != nil {
		e.reader.Close()
		e.reader = nil
	}
}

func (e *Election) complain(err error) {
	why := fmt.Sprintf("%T %s", err, store.SQLState(err))
	if why == e.said {
		return
	}
	e.said = why
	e.config.Log.Warn().Err(err).Msg("stream election failed; trying again")
}
