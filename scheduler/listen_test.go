package scheduler_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
)

// hints are a scheduler's wake-ups, filtered as a served replica filters them: a transition of its own making wakes
// it no second time.
type hints struct {
	wake, available, ended chan struct{}
	of                     atomic.Pointer[scheduler.Scheduler]
}

// listen turns notifications into hints. It listens when it returns.
func listen(ctx context.Context, t *testing.T, url string, wg *sync.WaitGroup) *hints {
	t.Helper()
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, `LISTEN `+store.Channel)
	require.NoError(t, err)
	h := &hints{wake: make(chan struct{}, 1), available: make(chan struct{}, 1), ended: make(chan struct{}, 1)}
	wg.Go(func() {
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		for {
			n, err := conn.WaitForNotification(ctx)
			if err != nil {
				return
			}
			h.pass(n.Payload)
		}
	})
	return h
}

func (h *hints) pass(payload string) {
	var transitions []struct {
		RunID     int64   `json:"run_id"`
		To        string  `json:"to"`
		ReplicaID *string `json:"replica_id"`
	}
	if err := json.Unmarshal([]byte(payload), &transitions); err != nil || len(transitions) == 0 {
		for _, c := range []chan struct{}{h.wake, h.available, h.ended} {
			hint(c)
		}
		return
	}
	s := h.of.Load()
	for _, tr := range transitions {
		own := s != nil && tr.ReplicaID != nil && *tr.ReplicaID == s.Status().ReplicaID
		switch tr.To {
		case "AVAILABLE":
			if s == nil || !s.Claimed(tr.RunID) {
				hint(h.available)
			}
		case "RUNNING":
			if s != nil && !own {
				s.OthersClaimed()
			}
		case "DONE", "FAILED", "CANCELED":
			if own {
				hint(h.ended)
			} else {
				hint(h.wake)
			}
		}
	}
}

func hint(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
