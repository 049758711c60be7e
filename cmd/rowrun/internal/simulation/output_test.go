package simulation

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"
)

var (
	errNoRoom = errors.New("no space left on device (simulated)")
	errUnread = errors.New("nobody reads it (simulated)")
)

// outputWaits is for how long a write waits for its reader, as stream.Output does.
const outputWaits = 10 * time.Second

// output is the standard output of one replica: what the stream is written to.
type output struct {
	s       *sim
	process *process
	since   atomic.Int64 // when the write that waits began, 0: none does

	// What is written to it is judged by told, with the database's mu held.
	began time.Time
	gap   bool          // it has had a gap line
	ranks map[int64]int // how far runs were printed
}

func newOutput(p *process) *output {
	return &output{s: p.s, process: p, began: time.Now(), ranks: map[int64]int{}}
}

// Ready says that a write would be taken now.
func (o *output) Ready() bool { return !o.process.unread.now() }

// Blocked is for how long a write has been waiting for its reader.
func (o *output) Blocked() time.Duration {
	if since := o.since.Load(); since != 0 {
		return time.Since(time.Unix(0, since))
	}
	return 0
}

// Write takes lines; a part of them, where there is no room for more.
func (o *output) Write(lines []byte) (int, error) {
	mayWrite := o.s.told.mayWrite(o.process)
	if o.process.thawed(context.Background()) != nil {
		return 0, errUnread
	}
	if end := o.process.unread.end(); !end.IsZero() {
		o.s.count("stream: output that nobody reads")
		o.since.Store(time.Now().UnixNano())
		_ = pause(context.Background(), min(outputWaits, time.Until(end)))
		o.since.Store(0)
		if o.process.unread.now() {
			o.s.told.forgets(o)
			return 0, errUnread
		}
	}
	if o.process.full.now() {
		o.s.count("stream: output without room")
		taken := lines[:bytes.IndexByte(lines, '\n')+1]
		o.s.told.written(o, taken, mayWrite)
		o.s.told.forgets(o)
		return len(taken), errNoRoom
	}
	o.s.told.written(o, lines, mayWrite)
	return len(lines), nil
}
