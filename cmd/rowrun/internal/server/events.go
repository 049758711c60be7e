package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
)

const (
	// maxReaders is how many may read /events at once.
	maxReaders = 1000
	// eventsBatch is how many lines are written at once.
	eventsBatch = 500
	// eventsPause is the least time between two writes to one reader: under
	// load what comes meanwhile is written together.
	eventsPause = 10 * time.Millisecond
	// eventsComment is shorter than what proxies take for a connection that is dead.
	eventsComment = 15 * time.Second
	// eventsPatience is how long one write may take before its reader is dropped.
	eventsPatience = 10 * time.Second

	gapNotKept = "the position asked for is not in this replica's history"
)

// eventsHandler serves the stream as server-sent events: data is the line, id
// its position. A reader that comes back with Last-Event-ID goes on there, or
// is told with a gap line that it can't. It is told where it stands before the
// first line too, and while there is none.
type eventsHandler struct {
	history *history.History
	// follow, where not nil, is called when somebody begins to read: it returns
	// when lines flow, and how to say that this reader has gone.
	follow  func(ctx context.Context) (unfollow func(), err error)
	stopped context.Context // ends when the server is stopping
	comment time.Duration
	veiled  bool // what failed is told without its text
}

func (h *eventsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	filter, err := history.ParseFilter(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if h.history.Stats().Readers >= maxReaders {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many readers", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.stopped, cancel)()
	if h.follow != nil {
		unfollow, err := h.follow(ctx)
		if err != nil {
			w.Header().Set("Retry-After", "5")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer unfollow()
	}
	reader, found := h.history.Follow(r.Header.Get("Last-Event-ID"))
	defer reader.Close()

	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // or a proxy in between may gather
	out := &eventWriter{to: w, control: http.NewResponseController(w)}
	if out.control.SetReadDeadline(time.Time{}) != nil { // that of the server is for a request
		return
	}
	out.buffer.WriteString("retry: 1000\n: stream of rowrun\n\n")
	if !found {
		out.event("", h.history.GapLine(gapNotKept))
	}
	out.place(reader.Position()) // behind the gap: whoever comes back there has got it
	if out.flush() != nil {
		return
	}
	h.copy(ctx, reader, &filter, out)
}

// copy writes until the reader has gone, is too slow, or the server stops.
func (h *eventsHandler) copy(ctx context.Context, reader *history.Reader, filter *history.Filter, out *eventWriter) {
	silentSince := time.Now()
	for {
		wait, cancel := context.WithDeadline(ctx, silentSince.Add(h.comment))
		lines, err := reader.Next(wait, eventsBatch)
		cancel()
		switch {
		case err == nil:
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			out.buffer.WriteString(": still here\n")
			out.place(reader.Position()) // lines that the filter left out needn't be kept for it
		default:
			return // it comes back with its last id
		}
		for _, line := range lines {
			if !filter.Wants(line.Text) {
				continue
			}
			if h.veiled {
				line.Text = veil(line.Text)
			}
			out.event(line.Position, line.Text)
		}
		if out.buffer.Len() == 0 {
			continue
		}
		if out.flush() != nil {
			return
		}
		silentSince = time.Now()
		if len(lines) < eventsBatch && !pause(ctx, eventsPause) {
			return
		}
	}
}

// veil takes the text of a failure out of a line, which may hold what a run worked with.
func veil(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"detail":`)) {
		return line
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) != nil {
		return []byte("{}")
	}
	delete(members, "detail")
	rest, err := json.Marshal(members)
	if err != nil {
		return []byte("{}")
	}
	return rest
}

// pause waits; false: ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// eventWriter gathers events and writes them with a deadline of its own.
type eventWriter struct {
	to      http.ResponseWriter
	control *http.ResponseController
	buffer  bytes.Buffer
}

func (w *eventWriter) event(id string, data []byte) {
	if id != "" {
		w.buffer.WriteString("id: ")
		w.buffer.WriteString(id)
		w.buffer.WriteByte('\n')
	}
	w.buffer.WriteString("data: ")
	w.buffer.Write(data)
	w.buffer.WriteString("\n\n")
}

// place says where the reader stands. An id without data is no event, and becomes the Last-Event-ID all the same.
func (w *eventWriter) place(id string) {
	w.buffer.WriteString("id: ")
	w.buffer.WriteString(id)
	w.buffer.WriteString("\n\n")
}

func (w *eventWriter) flush() error {
	defer w.buffer.Reset()
	if err := w.control.SetWriteDeadline(time.Now().Add(eventsPatience)); err != nil {
		return err
	}
	if _, err := w.to.Write(w.buffer.Bytes()); err != nil {
		return err
	}
	return w.control.Flush()
}
