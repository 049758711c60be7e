package api

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	historyStep  = 10 * time.Second
	historySteps = 360 // an hour
	// delaysKept is how many delays of starts are kept of each step.
	delaysKept = 500
)

// History counts what happened in the last hour, in steps of ten seconds. Safe for use by many goroutines.
type History struct {
	mu    sync.Mutex
	now   func() time.Time
	steps [historySteps]step
}

type step struct {
	at                              int64 // which step since 1970
	started, done, failed, canceled int
	delays                          []float64 // ms
}

// NewHistory returns one that holds nothing.
func NewHistory() *History { return &History{now: time.Now} }

// current is the step of this moment. h.mu is held.
func (h *History) current() *step {
	at := h.now().UnixNano() / int64(historyStep)
	s := &h.steps[at%historySteps]
	if s.at != at {
		*s = step{at: at, delays: s.delays[:0]}
	}
	return s
}

// Transition counts a run that came to a status.
func (h *History) Transition(to string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch s := h.current(); to {
	case "RUNNING":
		s.started++
	case "DONE":
		s.done++
	case "FAILED":
		s.failed++
	case "CANCELED":
		s.canceled++
	}
}

// Delay keeps how long a run has waited from its insert, or its time, to its start.
func (h *History) Delay(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.current(); len(s.delays) < delaysKept {
		s.delays = append(s.delays, float64(d.Microseconds())/1000)
	}
}

// past is what a History tells.
type past struct {
	StepSeconds int        `json:"step_seconds"`
	At          []int64    `json:"at"`
	Started     []int      `json:"started"`
	Done        []int      `json:"done"`
	Failed      []int      `json:"failed"`
	Canceled    []int      `json:"canceled"`
	Inserted    []int64    `json:"inserted"`
	P50         []*float64 `json:"start_latency_p50_ms"`
	Source      string     `json:"source"`
}

// last tells of that long, the step that is under way left out.
func (h *History) last(d time.Duration) past {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(int64(d/historyStep), historySteps-1)
	now := h.now().UnixNano() / int64(historyStep)
	p := past{StepSeconds: int(historyStep.Seconds()), Source: "deployment", Inserted: []int64{}}
	for at := now - n; at < now; at++ {
		s := h.steps[at%historySteps]
		if s.at != at {
			s = step{}
		}
		var p50 *float64
		if len(s.delays) > 0 {
			sorted := slices.Sorted(slices.Values(s.delays))
			p50 = &sorted[len(sorted)/2]
		}
		p.At = append(p.At, at*historyStep.Milliseconds())
		p.Started, p.Done = append(p.Started, s.started), append(p.Done, s.done)
		p.Failed, p.Canceled, p.P50 = append(p.Failed, s.failed), append(p.Canceled, s.canceled), append(p.P50, p50)
	}
	return p
}

// pastLife is for how long the rows are not asked again for what was.
const pastLife = 30 * time.Second

// past is what was: of the last hour what this process has heard, of longer what the rows tell.
func (a *API) past(ctx context.Context, length string) (past, error) {
	switch length {
	case "15m":
		return a.config.History.last(15 * time.Minute), nil
	case "24h":
		return a.day.get(ctx, func(ctx context.Context) (past, error) { return a.told(ctx, 30*time.Minute, 48) })
	case "7d":
		return a.week.get(ctx, func(ctx context.Context) (past, error) { return a.told(ctx, 3*time.Hour, 56) })
	}
	return a.config.History.last(time.Hour), nil
}

// told asks the rows.
func (a *API) told(ctx context.Context, length time.Duration, n int) (past, error) {
	p := past{StepSeconds: int(length.Seconds()), Source: "rows", Started: []int{}, Done: []int{}, Canceled: []int{}}
	steps, err := a.store.BoardPast(ctx, length, n)
	for _, s := range steps {
		p.At, p.Inserted = append(p.At, s.At.UnixMilli()), append(p.Inserted, s.Inserted)
		p.Failed, p.P50 = append(p.Failed, int(s.Failed)), append(p.P50, s.StartP50)
	}
	return p, err
}
