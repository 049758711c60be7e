package replica

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

const (
	// followLinger is how long a replica goes on reading for nobody: a reader may come back.
	followLinger = 30 * time.Second
	// followLook is how often to look who writes the stream while somebody reads /events.
	followLook = 250 * time.Millisecond
	// followPatience is how long a new reader waits for lines to flow.
	followPatience = 5 * time.Second

	gapOtherSource = "the lines come from another source from here on"
	gapNotFollowed = "nobody followed the stream for a moment"

	// Who appends to the history.
	asWriter   = "writer"
	asFollower = "follower"
)

// follower fills the history of a replica that doesn't write the stream, while
// somebody reads its /events: from notifications and rows, as `rowrun stream`
// does. The replica that writes the stream keeps what it writes.
type follower struct {
	store     *store.Store
	hub       *events.Hub
	connected func() bool
	writing   func() bool
	history   *history.History
	log       zerolog.Logger
	shard     string // stands in each line; "": there are no shards

	changed chan struct{} // readers or ready have changed

	mu      sync.Mutex
	readers int
	left    time.Time     // when the last reader went
	ready   chan struct{} // closed while lines flow
	ending  bool          // who follows has been told to stop: it lets nobody in
	last    string        // who appended last
	lost    uint64        // gap lines among those written
	lostAt  time.Time     // when the last of them was
}

func newFollower(s *store.Store, hub *events.Hub, connected, writing func() bool, kept *history.History, log zerolog.Logger) *follower {
	return &follower{
		store: s, hub: hub, connected: connected, writing: writing, history: kept, log: log,
		changed: make(chan struct{}, 1), ready: make(chan struct{}),
	}
}

// written keeps a line of the stream that this replica writes.
func (f *follower) written(position string, line []byte) {
	f.append(asWriter, position, line)
	if history.IsGap(line) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lost++
		f.lostAt = time.Now()
	}
}

// gaps is how many gap lines this replica wrote into the stream, and when the last. Those that only its readers of
// /events get are not among them: the stream lacks nothing there.
func (f *follower) gaps() (count uint64, last time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost, f.lostAt
}

func (f *follower) append(source, position string, line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.from(source)
	f.history.Append(position, line)
}

// from says who appends from now on: where that changes, lines may be missing that the one had not yet printed when the
// other began. f.mu is held.
func (f *follower) from(source string) {
	if f.last != "" && f.last != source {
		f.history.Gap(gapOtherSource)
	}
	f.last = source
}

// Follow is called when somebody begins to read the history; it returns when lines flow into it.
func (f *follower) Follow(ctx context.Context) (unfollow func(), err error) {
	f.mu.Lock()
	f.readers++
	ready := f.ready
	f.mu.Unlock()
	f.signal()
	unfollow = func() {
		f.mu.Lock()
		f.readers--
		f.left = time.Now()
		f.mu.Unlock()
	}
	patience := time.NewTimer(followPatience)
	defer patience.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !f.writing() {
		select {
		case <-ready:
			return unfollow, nil
		case <-look.C:
			continue
		case <-ctx.Done():
			err = ctx.Err()
		case <-patience.C:
			err = errors.New("the stream can't be read now")
		}
		unfollow()
		return nil, err
	}
	return unfollow, nil
}

func (f *follower) signal() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// wanted says that somebody reads, or did a moment ago, what nobody here writes. f.mu is held.
func (f *follower) wanted() bool {
	return (f.readers > 0 || time.Since(f.left) < followLinger) && !f.writing()
}

// starts says that it is time to follow.
func (f *follower) starts() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ending = !f.wanted()
	return !f.ending
}

// ends says that it is time to stop. Who comes in from here on waits until somebody follows again: what this one still
// reads is not all that comes.
func (f *follower) ends() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wanted() {
		return false
	}
	f.ending = true
	f.close()
	return true
}

// close lets nobody in any more. f.mu is held.
func (f *follower) close() {
	select {
	case <-f.ready:
		f.ready = make(chan struct{})
	default:
	}
}

// Run follows whenever it is wanted, until ctx ends; it returns nil.
func (f *follower) Run(ctx context.Context) error {
	for {
		f.mu.Lock()
		idle := f.readers == 0
		f.mu.Unlock()
		var look <-chan time.Time
		timer := time.NewTimer(followLook)
		if !idle {
			look = timer.C
		}
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-f.changed:
		case <-look:
		}
		timer.Stop()
		if f.starts() {
			if err := f.follow(ctx); err != nil && ctx.Err() == nil {
				f.log.Warn().Err(err).Msg("stream could not be followed for /events")
			}
		}
	}
}

// follow reads until it isn't wanted any more.
func (f *follower) follow(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	begun := false // used by the reader's goroutine only
	printer, err := stream.NewPrinter(stream.PrinterConfig{Out: io.Discard, Shard: f.shard})
	if err != nil {
		return err
	}
	printer.Keep(func(position string, line []byte) {
		if !begun {
			begun = true // the gap in the beginning: from here on everything is read
			f.begin()
			return
		}
		f.followed(position, line)
	})
	reader, err := stream.New(stream.Config{
		Store: f.store, Hub: f.hub, Connected: f.connected, Printer: printer, Log: f.log, Gap: "followed from here on",
	})
	if err != nil {
		return err
	}
	defer reader.Close()
	ended := make(chan error, 1)
	go func() { ended <- reader.Run(ctx) }()
	look := time.NewTicker(followLook)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			f.end()
			return err
		case <-look.C:
			if f.ends() {
				stop()
			}
		}
	}
}

// begin lets the readers in. What the history holds is of another time, unless somebody reads it already: whoever does is
// told that something may be missing in between.
func (f *follower) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		return
	}
	switch {
	case f.history.Stats().Readers == 0:
		f.history.Forget()
		f.last = ""
	case f.last == asFollower:
		f.history.Gap(gapNotFollowed)
	}
	f.from(asFollower)
	close(f.ready)
}

// followed keeps a line that was followed, unless the writer's own stand for it.
func (f *follower) followed(position string, line []byte) {
	if !f.takenOver() {
		f.append(asFollower, position, line)
	}
}

// takenOver says that the writer has taken over, and tells readers at once, not with its next line: that may be long in
// coming, and the writer may give the stream away again before.
func (f *follower) takenOver() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.writing() {
		return false
	}
	f.from(asWriter)
	return true
}

// end has whoever comes wait until somebody follows again.
func (f *follower) end() {
	f.takenOver()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.close()
}
