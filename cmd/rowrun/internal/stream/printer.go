package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/store"
)

// flushAt is how many bytes are gathered for one write.
const flushAt = 64 << 10

// ErrOutput is what errors of writing match: nobody reads the stream any more,
// or there is no room for it.
var ErrOutput = errors.New("stream output failed")

// PrinterConfig says where lines go, and in which form.
type PrinterConfig struct {
	// Out gets whole lines. Required.
	Out io.Writer
	// Text asks for aligned lines for people instead of JSON, Color for colours in them.
	Text, Color bool
	// Shard, where not "", stands in each line: behind its level, or in front of a line for people.
	Shard string
	// Wants, where not nil, is asked whether a line, given as JSON, is to be written.
	Wants func(line []byte) bool
}

// Printer writes lines. It belongs to one Reader at a time; notes may be printed beside it.
type Printer struct {
	config PrinterConfig
	keep   func(position string, line []byte) // see Keep
	lines  atomic.Uint64                      // transitions that were printed

	mu     sync.Mutex
	buffer bytes.Buffer
	json   zerolog.Logger
	failed error
}

// NewPrinter checks a configuration.
func NewPrinter(config PrinterConfig) (*Printer, error) {
	if config.Out == nil {
		return nil, errors.New("stream: an output is required")
	}
	p := &Printer{config: config}
	p.json = zerolog.New(&p.buffer)
	if config.Shard != "" {
		p.json = p.json.With().Str("shard", config.Shard).Logger()
	}
	return p, nil
}

// Keep hands each line to append as well, as JSON, with its position, "" where the source knows none. It is called
// before anything is printed.
func (p *Printer) Keep(append func(position string, line []byte)) { p.keep = append }

// count is how many transitions were printed.
func (p *Printer) count() uint64 { return p.lines.Load() }

func (p *Printer) transition(l line) {
	p.lines.Add(1)
	p.line(l.lsn, l.json, func() { l.text(&p.buffer, p.config.Color) })
}

// edges prints the changes of status that a row tells, from behind a rank up to another one.
func (p *Printer) edges(row *store.StreamRow, behind, last uint8) {
	for next := behind + 1; next <= last; next++ {
		if l, happened := edge(row, next); happened {
			p.transition(l)
		}
	}
}

// gap says that transitions may be missing in this place.
func (p *Printer) gap(at time.Time, reason string) { p.gapAfter(at, reason, "") }

// gapAfter also says what the last place was that the log was read to.
func (p *Printer) gapAfter(at time.Time, reason, lsn string) {
	p.line("", func(to *zerolog.Logger) { gapJSON(to, at, reason, lsn) },
		func() { gapText(&p.buffer, at, reason, p.config.Color) })
}

// line puts a line into the buffer, and hands its JSON to keep.
func (p *Printer) line(position string, json func(to *zerolog.Logger), text func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	begin := p.buffer.Len()
	if p.keep != nil || p.config.Wants != nil || !p.config.Text {
		json(&p.json)
	}
	if p.config.Wants != nil && !p.config.Wants(p.buffer.Bytes()[begin:]) {
		p.buffer.Truncate(begin)
		return
	}
	if p.keep != nil {
		p.keep(position, p.buffer.Bytes()[begin:])
	}
	if p.config.Text {
		p.buffer.Truncate(begin)
		if p.config.Shard != "" {
			p.buffer.WriteString(p.config.Shard + "  ")
		}
		text()
	}
	if p.buffer.Len() >= flushAt {
		p.write()
	}
}

func gapJSON(to *zerolog.Logger, at time.Time, reason, lsn string) {
	e := to.Warn().Str("time", at.UTC().Format(timeLayout)).Str("stream", "task_run").Str("event", "stream.gap").
		Str("reason", reason)
	if lsn != "" {
		e.Str("last_lsn", lsn)
	}
	e.Msg("transitions may be missing here")
}

// flush writes what was gathered.
func (p *Printer) flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write()
	return p.failed
}

// write keeps the first error: what comes after it is dropped. The caller holds mu.
func (p *Printer) write() {
	if p.failed == nil && p.buffer.Len() > 0 {
		if _, err := p.config.Out.Write(p.buffer.Bytes()); err != nil {
			p.failed = fmt.Errorf("%w: %w", ErrOutput, err)
		}
	}
	p.buffer.Reset()
}

// output is what a printer writes to, where that knows about its reader.
type output interface {
	Ready() bool
	Blocked() time.Duration
}

// ready says that what is printed would be written.
func (p *Printer) ready() bool {
	out, knows := p.config.Out.(output)
	return !knows || out.Ready()
}

// blocked is for how long a write has been waiting for its reader.
func (p *Printer) blocked() time.Duration {
	if out, knows := p.config.Out.(output); knows {
		return out.Blocked()
	}
	return 0
}

// forget lets a printer that failed try again.
func (p *Printer) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = nil
}
