package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"
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
}

// Printer writes lines. It belongs to one Reader at a time.
type Printer struct {
	config PrinterConfig
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
	return p, nil
}

func (p *Printer) transition(l line) {
	if p.config.Text {
		l.text(&p.buffer, p.config.Color)
	} else {
		l.json(&p.json)
	}
	if p.buffer.Len() >= flushAt {
		p.write()
	}
}

// gap says that transitions may be missing in this place.
func (p *Printer) gap(at time.Time, reason string) {
	if p.config.Text {
		gapText(&p.buffer, at, reason, p.config.Color)
		return
	}
	p.json.Warn().Str("time", at.UTC().Format(timeLayout)).Str("stream", "task_run").Str("event", "stream.gap").
		Str("reason", reason).Msg("transitions may be missing here")
}

// flush writes what was gathered.
func (p *Printer) flush() error {
	p.write()
	return p.failed
}

// write keeps the first error: what comes after it is dropped.
func (p *Printer) write() {
	if p.failed == nil && p.buffer.Len() > 0 {
		if _, err := p.config.Out.Write(p.buffer.Bytes()); err != nil {
			p.failed = fmt.Errorf("%w: %w", ErrOutput, err)
		}
	}
	p.buffer.Reset()
}

// forget lets a printer that failed try again.
func (p *Printer) forget() { p.failed = nil }
