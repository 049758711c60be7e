package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/store"
)

// overview is how the deployment stands.
type overview struct {
	Now            store.Instant            `json:"now"`
	Replicas       []store.BoardReplica     `json:"replicas"`
	Counts         map[string]store.Bounded `json:"counts"`
	OldestSeconds  float64                  `json:"oldest_available_seconds"`
	Overdue        store.Bounded            `json:"overdue"`
	OverdueSeconds float64                  `json:"overdue_seconds"`
	Orphans        string                   `json:"orphans"`
	OrphanTypes    int64                    `json:"orphan_types"`
	Stale          int                      `json:"stale"`
	Failing        []failing                `json:"deliveries_failing"`
	Retrying       store.Bounded            `json:"deliveries_retrying"`
	NotifyQueue    float64                  `json:"notify_queue"`
	Queues         []store.BoardQueue       `json:"queues"`
	Schedules      []store.BoardSchedule    `json:"schedules"`
	Longest        []store.BoardRun         `json:"running_longest"`
	FailedLast     []store.BoardRun         `json:"failed_last"`
	Recovery       *recovery                `json:"recovery"`
	Doctor         []finding                `json:"doctor"`
	History        past                     `json:"history"`
	worries        []store.LimitWorry
}

// recovery is how far the recovery from an outage is that is under way.
type recovery struct {
	ID           string        `json:"id"`
	BeganAt      time.Time     `json:"began_at"`
	Backlog      store.Bounded `json:"backlog"`
	Remaining    store.Bounded `json:"remaining"`
	Rate         float64       `json:"rate"`
	EstimatedEnd *time.Time    `json:"estimated_end"`
}

func recoveryOf(r *store.Recovery) *recovery {
	if r == nil {
		return nil
	}
	return &recovery{
		strconv.FormatInt(r.ID, 10), r.BeganAt.UTC(), store.BoundedBy(r.Backlog, store.MaxBacklog), store.BoundedBy(r.Remaining, store.MaxBacklog),
		r.Rate, r.EstimatedEnd,
	}
}

// failing is why deliveries wait, and for how long the oldest does.
type failing struct {
	Reason        string  `json:"reason"`
	OldestSeconds float64 `json:"oldest_seconds"`
}

// waitingCount is where store.Health ends counting.
const waitingCount = 10000

func (s *server) getOverview(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	w := query(r)
	length := cmp.Or(w.choice("range", "15m", "1h", "24h", "7d"), "1h")
	if err := w.done(); err != nil {
		return nil, err
	}
	o, err := s.overview.get(ctx, s.look)
	if err != nil {
		return nil, err
	}
	o.History, err = s.past(ctx, length)
	return o, err
}

// look asks for all that the overview shows.
func (a *API) look(ctx context.Context) (overview, error) {
	health, err := a.store.Health(ctx)
	if err != nil {
		return overview{}, err
	}
	board, err := a.store.BoardOverview(ctx)
	if err != nil {
		return overview{}, err
	}
	o := overview{
		Now: board.Now, Counts: map[string]store.Bounded{"RUNNING": board.Running, "FAILED": board.FailedLastDay},
		OldestSeconds: health.OldestAvailable.Seconds(), Overdue: store.BoundedBy(health.Overdue, waitingCount), OverdueSeconds: health.OverdueFor.Seconds(),
		Orphans: strconv.FormatInt(health.Orphans, 10), OrphanTypes: health.OrphanTypes, Stale: board.Stale, Retrying: board.Retrying, NotifyQueue: health.NotifyQueue,
		Failing: []failing{}, Queues: append([]store.BoardQueue{}, board.Queues...), Longest: append([]store.BoardRun{}, board.Longest...),
	}
	o.Recovery = recoveryOf(health.Recovery)
	for _, status := range []string{"PENDING", "AVAILABLE"} {
		var n int64
		for _, waiting := range health.Waiting {
			if waiting.Status == status {
				n += waiting.Runs
			}
		}
		o.Counts[status] = store.BoundedBy(n, waitingCount)
	}
	for reason, age := range health.OldestDelivery {
		if age > 0 {
			o.Failing = append(o.Failing, failing{reason, age.Seconds()})
		}
	}
	slices.SortFunc(o.Failing, func(a, b failing) int { return int(b.OldestSeconds - a.OldestSeconds) })
	if o.Replicas, err = a.store.BoardReplicas(ctx); err != nil {
		return overview{}, err
	}
	o.Replicas = append([]store.BoardReplica{}, o.Replicas...)
	schedules, err := a.store.BoardSchedules(ctx, store.Page{Limit: 10}, true)
	if err != nil {
		return overview{}, err
	}
	o.Schedules = append([]store.BoardSchedule{}, schedules...)
	failed, _, _, err := a.store.FailedRuns(ctx, store.RunSearch{Failed: true}, nil, 10)
	if err != nil {
		return overview{}, err
	}
	o.FailedLast = append([]store.BoardRun{}, failed...)
	a.hideRuns(o.FailedLast)
	a.hideRuns(o.Longest)
	if o.worries, err = a.store.LimitWorries(ctx); err != nil {
		return overview{}, err
	}
	o.Doctor = findings(&o, health)
	return o, nil
}

func (s *server) getDoctor(ctx context.Context, r *http.Request, _ auth.Who) (any, error) {
	if err := query(r).done(); err != nil {
		return nil, err
	}
	o, err := s.overview.get(ctx, s.look)
	if err != nil {
		return nil, err
	}
	return items[finding]{o.Doctor}, nil
}
