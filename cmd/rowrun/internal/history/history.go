package history

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// errSlow says that lines were overwritten before the reader came to them.
var errSlow = errors.New("reader too slow: the history went past it")

// Config bounds a History. What is zero gets its default.
type Config struct {
	// Lines is how many lines are kept at most. Default 32,768.
	Lines int
	// Bytes is how much text is kept at most. Default 16 MiB.
	Bytes int
	// Shard, where not "", stands in the gap lines that are made here.
	Shard string
}

// Line is one line of the stream and where it stands.
type Line struct {
	Position string
	// Text is the JSON without the line's end. It must not be changed.
	Text []byte
}

// History is a bounded ring of lines. All methods may be called from many goroutines.
type History struct {
	mu    sync.Mutex
	ring  []entry
	shard string
	own   string // prefix of the positions that are made here
	first uint64 // number of the oldest line that is kept
	next  uint64 // number of the line to come; the first line has 1, so that there is a place before it
	// gone is the newest position that the source gave and of which a line was dropped.
	gone  string
	bytes int
	limit int

	news    chan struct{} // closed at the next line; nil: nobody waits
	readers int
	stats   Stats
}

type entry struct {
	given string // position by the source, "" where it knows none
	text  []byte
}

// Stats are a History's counters since it was made.
type Stats struct {
	Lines   uint64 // lines appended, gaps included
	Gaps    uint64 // gap lines among them
	Slow    uint64 // readers that were dropped because they were too slow
	Readers int    // that are open now
}

// New checks a configuration.
func New(config Config) (*History, error) {
	if config.Lines < 0 || config.Bytes < 0 {
		return nil, errors.New("history: bounds must not be negative")
	}
	if config.Lines == 0 {
		config.Lines = 32768
	}
	if config.Bytes == 0 {
		config.Bytes = 16 << 20
	}
	return &History{ring: make([]entry, config.Lines), limit: config.Bytes, shard: config.Shard, own: newPrefix(), first: 1, next: 1}, nil
}

// gapMark stands in a gap line and can't stand in another one, where quotes in values are escaped.
const gapMark = `"event":"stream.gap"`

// IsGap says whether a JSON line of the stream is a gap line.
func IsGap(line []byte) bool {
	return bytes.HasPrefix(line, []byte(`{"level":"warn"`)) && bytes.Contains(line, []byte(gapMark))
}

// Append adds one JSON line; a line's end behind it is dropped. position is the source's, "" where it knows none. The
// line is copied.
func (h *History) Append(position string, line []byte) {
	text := bytes.Clone(bytes.TrimRight(line, "\n"))
	gap := IsGap(text)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next-h.first == uint64(len(h.ring)) {
		h.drop()
	}
	h.ring[h.next%uint64(len(h.ring))] = entry{given: position, text: text}
	h.next++
	h.bytes += len(text)
	for h.bytes > h.limit && h.next-h.first > 1 {
		h.drop()
	}
	h.stats.Lines++
	if gap {
		h.stats.Gaps++
	}
	if h.news != nil {
		close(h.news)
		h.news = nil
	}
}

// Gap adds a line that says that transitions may be missing here.
func (h *History) Gap(reason string) { h.Append("", h.GapLine(reason)) }

// GapLine is GapLine with the history's shard.
func (h *History) GapLine(reason string) []byte {
	line := GapLine(reason)
	if h.shard == "" {
		return line
	}
	const level = `{"level":"warn",`
	return fmt.Appendf(nil, `%s"shard":%q,%s`, level, h.shard, line[len(level):])
}

// GapLine is a line that says that transitions may be missing in its place.
func GapLine(reason string) []byte {
	return fmt.Appendf(nil, `{"level":"warn","time":%q,"stream":"task_run",%s,"reason":%q,"message":"transitions may be missing here"}`,
		time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00"), gapMark, reason)
}

// Forget drops what is kept: what comes does not follow it. No position of before is known any more.
func (h *History) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.first < h.next {
		h.drop()
	}
	h.own = newPrefix()
}

func newPrefix() string { return rand.Text()[:8] + "-" }

// Stats returns the counters.
func (h *History) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	stats := h.stats
	stats.Readers = h.readers
	return stats
}

// drop forgets the oldest line. Called with mu held.
func (h *History) drop() {
	oldest := &h.ring[h.first%uint64(len(h.ring))]
	h.bytes -= len(oldest.text)
	if oldest.given != "" {
		h.gone = oldest.given
	}
	*oldest = entry{}
	h.first++
}

// position is the history's own of a line, by its number. Called with mu held.
func (h *History) position(n uint64) string { return h.own + strconv.FormatUint(n, 10) }

// find is the number of the line with which a reader that has seen position goes on. Called with mu held.
func (h *History) find(position string) (uint64, bool) {
	if text, mine := strings.CutPrefix(position, h.own); mine {
		seen, err := strconv.ParseUint(text, 10, 64)
		if err != nil || seen >= h.next || seen+1 < h.first {
			return 0, false
		}
		return seen + 1, true
	}
	if position == h.gone { // of its transaction some lines are kept at most
		return 0, false
	}
	for n := h.first; position != "" && n < h.next; n++ {
		if h.ring[n%uint64(len(h.ring))].given == position {
			return n, true
		}
	}
	return 0, false
}
