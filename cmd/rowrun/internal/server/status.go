package server

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// statusTimeout bounds the question for the other replicas.
const statusTimeout = 2 * time.Second

// Status is what /status tells.
type Status struct {
	Status      string `json:"status"` // running or draining
	Role        string `json:"role"`   // worker or admin, which claims nothing
	Paused      bool   `json:"paused"` // it claims nothing, because an operator said so
	ReplicaName string `json:"replica_name"`
	// ReplicaID is null before the first heartbeat and after a fence.
	ReplicaID *string `json:"replica_id"`
	Running   int     `json:"running"`   // runs that execute here
	Completed int64   `json:"completed"` // runs that ended DONE here since the process started
	Failed    int64   `json:"failed"`    // that ended FAILED
	// HeartbeatFailures counts heartbeats that could not be written since the process started.
	HeartbeatFailures int64 `json:"heartbeat_failures"`
	Stalled           int64 `json:"stalled"` // executors whose run reported no progress in time, now
	Stuck             int64 `json:"stuck"`   // executors that ignore their cancel, now
	// Recovery is the deployment's recovery from an outage that is under way; null: none is, or the database doesn't answer.
	Recovery *Recovery `json:"recovery"`
	// Replicas is null where the database doesn't answer.
	Replicas []Replica `json:"replicas"`
}

// Recovery is how far a recovery is.
type Recovery struct {
	ID           int64      `json:"id"`
	LastSeen     time.Time  `json:"last_seen"` // when a replica that claims was last alive before
	BeganAt      time.Time  `json:"began_at"`
	Backlog      int64      `json:"backlog"`       // overdue runs when it began
	Remaining    int64      `json:"remaining"`     // that are still to be started
	Started      int64      `json:"started"`       // runs started since, overdue or not
	Rate         float64    `json:"rate"`          // overdue runs started per second lately
	EstimatedEnd *time.Time `json:"estimated_end"` // null: not known
}

// Replica is one of the deployment's, as its row tells.
type Replica struct {
	ReplicaID   string    `json:"replica_id"`
	ReplicaName string    `json:"replica_name"`
	State       string    `json:"state"` // ACTIVE, DRAINING or DEAD
	Live        bool      `json:"live"`  // its lease is in force
	Role        string    `json:"role"`
	Paused      bool      `json:"paused"`
	Running     int64     `json:"running"`
	LastSeen    time.Time `json:"last_seen"`
}

// statusHandler answers with what ask tells; an answer is given again for a
// quarter of a second, so that a flood of requests costs the database little.
type statusHandler struct {
	ask    func(ctx context.Context) Status
	mu     sync.Mutex
	latest []byte
	at     time.Time
}

func (h *statusHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(h.answer(context.WithoutCancel(r.Context()))) // whoever asked may have gone
}

func (h *statusHandler) answer(ctx context.Context) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.latest != nil && time.Since(h.at) < reuse {
		return h.latest
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	text, err := json.Marshal(h.ask(ctx))
	if err != nil {
		return []byte("{}\n") // a Status has nothing that can't be marshaled
	}
	h.latest, h.at = append(text, '\n'), time.Now()
	return h.latest
}
