package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Progress is one line on a terminal that is written over until it is done. Where nobody looks, or the cursor can't be moved,
// nothing is written. Forty lines of our own: libraries bring their idea of rates, which mean nothing of runs that wait.
type Progress struct {
	to      io.Writer
	screen  Screen
	begun   time.Time
	mu      sync.Mutex
	written bool
	done    float64
	text    string
}

// NewProgress shows progress on w, a command's standard error.
func NewProgress(w io.Writer, lookup func(string) (string, bool)) *Progress {
	return &Progress{to: w, screen: ScreenOf(w, lookup), begun: time.Now(), done: -1}
}

// Show says how much is done, 0 to 1, below 0 where that isn't known, and what is to be said of it.
func (p *Progress) Show(done float64, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.text = done, text
	p.draw()
}

// Tick draws the line anew: time goes on.
func (p *Progress) Tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draw()
}

func (p *Progress) draw() {
	if !p.screen.Moves || p.text == "" {
		return
	}
	_, _ = io.WriteString(p.to, "\r"+p.line(time.Since(p.begun))+"\x1b[K")
	p.written = true
}

// line is the whole of it, no wider than the screen: at its last cell a terminal would go on to the next line.
func (p *Progress) line(took time.Duration) string {
	before, behind := "", "  "+took.Round(time.Second).String()
	if p.done >= 0 {
		bar := min(24, p.screen.Width*3/10)
		full := int(min(p.done, 1) * float64(bar))
		before = fmt.Sprintf("%s%s %3.0f %%  ", strings.Repeat("█", full), strings.Repeat("░", bar-full), min(p.done, 1)*100)
	}
	return before + Cut(Printable(p.text), max(0, p.screen.Width-1-cells(before)-cells(behind))) + behind
}

// Clear takes the line away, so that what follows stands in its place.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.written {
		_, _ = io.WriteString(p.to, "\r\x1b[K")
	}
	p.written, p.text = false, ""
}

// Ticking draws the line anew each second until stop is called, which takes it away.
func (p *Progress) Ticking() (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				p.Tick()
			}
		}
	}()
	return func() {
		close(over)
		<-ended
		p.Clear()
	}
}
