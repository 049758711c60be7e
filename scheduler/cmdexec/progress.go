//go:build linux

package cmdexec

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"
)

const (
	// progressPrefix begins a line of output that reports progress; the rest of it is a JSON object.
	progressPrefix = "rowrun:progress "
	// maxProgress is how long such a line may be; longer ones are output like any other.
	maxProgress = 64 << 10
	// progressPause is how far apart reports are at least: of several in between the last one counts.
	progressPause = 200 * time.Millisecond
)

// progress finds reports in what a command writes and hands on the newest.
type progress struct {
	report func(ctx context.Context, progress any) error
	found  chan struct{} // one slot: there is a newer report

	mu     sync.Mutex
	line   []byte // of the line that isn't whole yet, as far as it can be a report
	skip   bool   // that line is no report
	newest json.RawMessage
}

func newProgress() *progress { return &progress{found: make(chan struct{}, 1)} }

// take looks through output as it comes, in whatever pieces.
func (p *progress) take(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		part, rest, whole := bytes.Cut(b, []byte("\n"))
		p.add(part)
		if whole {
			p.endLine()
		}
		b = rest
	}
}

func (p *progress) add(part []byte) {
	if p.skip {
		return
	}
	p.line = append(p.line, part[:min(len(part), maxProgress+1-len(p.line))]...)
	n := min(len(p.line), len(progressPrefix))
	if string(p.line[:n]) != progressPrefix[:n] || len(p.line) > maxProgress {
		p.skip, p.line = true, p.line[:0]
	}
}

// end takes what was written last for a line, though none may end it.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
}

func (p *progress) endLine() {
	if doc, is := bytes.CutPrefix(p.line, []byte(progressPrefix)); is && !p.skip {
		if doc = bytes.TrimSpace(doc); len(doc) > 0 && doc[0] == '{' && json.Valid(doc) {
			p.newest = bytes.Clone(doc)
			select {
			case p.found <- struct{}{}:
			default:
			}
		}
	}
	p.skip, p.line = false, p.line[:0]
}

// run hands on reports until all output has been taken (ended is closed), the last one too. One that couldn't be stored
// is lost with nothing but its time: the next one comes.
func (p *progress) run(ctx context.Context, ended <-chan struct{}) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-p.found:
			p.tell(ctx)
		case <-ended:
			p.end()
			p.tell(ctx)
			return
		}
		pause.Reset(progressPause)
		select {
		case <-pause.C:
		case <-ended:
		}
	}
}

func (p *progress) tell(ctx context.Context) {
	p.mu.Lock()
	doc := p.newest
	p.newest = nil
	p.mu.Unlock()
	if doc == nil || p.report == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	_ = p.report(ctx, doc) //nolint:errcheck // the command goes on
}
