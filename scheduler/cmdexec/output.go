//go:build linux

package cmdexec

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	maxOutput  = 256 << 10 // recorded of one run
	chunkSize  = 32 << 10  // recorded in one row
	tailSize   = 1 << 10   // in the detail of a failure
	flushAfter = time.Second
	logTimeout = 5 * time.Second
)

// output is what a command has written: taken without ever waiting, recorded by
// record as fast as that goes.
type output struct {
	log      func(ctx context.Context, kind string, detail any) error
	chunk    chan struct{} // one slot: a whole chunk is pending
	progress *progress

	mu      sync.Mutex
	pending []byte // taken, not yet recorded; at most maxOutput
	taken   int
	dropped int64
	tail    []byte // the last bytes, dropped ones too
}

func newOutput(log func(context.Context, string, any) error) *output {
	return &output{log: log, chunk: make(chan struct{}, 1), progress: newProgress()}
}

// Write takes p and never fails: a command must not block or die of its output.
func (o *output) Write(p []byte) (int, error) {
	o.progress.take(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	keep := min(len(p), maxOutput-o.taken)
	o.pending = append(o.pending, p[:keep]...)
	o.taken += keep
	o.dropped += int64(len(p) - keep)
	o.tail = append(o.tail, p[max(0, len(p)-tailSize):]...)
	if len(o.tail) > tailSize {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-tailSize:]...)
	}
	if len(o.pending) >= chunkSize {
		select {
		case o.chunk <- struct{}{}:
		default:
		}
	}
	return len(p), nil
}

// record writes rows to task_run_log until all output has been taken (ended is
// closed), and then what is left. A row that couldn't be written is tried again
// with the next one; at the end once.
func (o *output) record(ctx context.Context, ended <-chan struct{}) {
	// What a canceled command said is what its user wants to read.
	ctx = context.WithoutCancel(ctx)
	tick := time.NewTicker(flushAfter)
	defer tick.Stop()
	for {
		select {
		case <-o.chunk:
			o.flush(ctx, chunkSize, false)
		case <-tick.C:
			o.flush(ctx, 1, false)
		case <-ended:
			if o.flush(ctx, 1, true) {
				o.sayCut(ctx)
			}
			return
		}
	}
}

// flush writes rows while at least atLeast bytes are pending; false where one
// couldn't be written.
func (o *output) flush(ctx context.Context, atLeast int, last bool) bool {
	for {
		text := o.next(atLeast, last)
		if len(text) == 0 {
			return true
		}
		if !o.row(ctx, map[string]any{"text": safeText(text)}) {
			return false
		}
		o.mu.Lock()
		o.pending = o.pending[len(text):]
		o.mu.Unlock()
	}
}

// next is the text of the next row, without a character that isn't whole yet.
func (o *output) next(atLeast int, last bool) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) < atLeast {
		return nil
	}
	text := o.pending[:min(len(o.pending), chunkSize)]
	if last && len(text) == len(o.pending) {
		return text
	}
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				text = text[:i]
			}
			break
		}
	}
	return text
}

func (o *output) sayCut(ctx context.Context) {
	o.mu.Lock()
	dropped := o.dropped
	o.mu.Unlock()
	if dropped == 0 {
		return
	}
	o.row(ctx, map[string]any{
		"text":          fmt.Sprintf("[output cut after %d KiB: %d bytes dropped]", maxOutput>>10, dropped),
		"truncated":     true,
		"dropped_bytes": dropped,
	})
}

func (o *output) row(ctx context.Context, detail map[string]any) bool {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	return o.log(ctx, "output", detail) == nil
}

// lastText is the end of what the command wrote.
func (o *output) lastText() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return safeText(o.tail)
}

// safeText makes text that jsonb takes.
func safeText(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD")
}
