package scheduler

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rowrun/rowrun/store"
)

// Store is the database as a scheduler knows it. There are two: *store.Store, and the simulated one of
// cmd/rowrun/internal/simulation. What each method promises is written at *store.Store.
type Store interface {
	replicaStore
	sweepStore
	recoveryStore

	// Work, EndRuns and what follows carry runs from one status to the next.
	Work(ctx context.Context, trip store.Trip) (store.Round, error)
	EndRuns(ctx context.Context, endings []store.Ending, lockTimeout time.Duration) ([]store.Ended, store.Opened, error)
	EndHeldRuns(ctx context.Context, endings []store.Ending, lockTimeout time.Duration) ([]store.Ended, store.Opened, error)
	HandOver(ctx context.Context, id int64, claim string) (bool, error)
	Resolve(ctx context.Context, c *store.Claim) error
	Watch(ctx context.Context, replicaID string, executed []store.Watched) ([]store.Held, error)
	ReportProgress(ctx context.Context, id int64, claim string, progress json.RawMessage) (bool, error)
	AppendLog(ctx context.Context, id int64, replicaID, kind string, detail json.RawMessage) error
	NoteStalled(ctx context.Context, id int64) error
}

// replicaStore is what a replica says of itself, and asks about itself.
type replicaStore interface {
	Whereabouts(ctx context.Context) (store.Whereabouts, error)
	Register(ctx context.Context, r store.Replica) error
	Heartbeat(ctx context.Context, replicaID string, running int) error
	Drain(ctx context.Context, replicaID string) error
	Deregister(ctx context.Context, replicaID string) error
	TypeRules(ctx context.Context) ([]store.TypeRule, error)
	ClaimRules(ctx context.Context, replicaID string) ([]store.TypeRule, bool, error)
	AnnounceTypes(ctx context.Context, replicaID string, types []string) error
	AnnounceDatabases(ctx context.Context, replicaID string, databases []string, engines, aside map[string]string) error
	AnnounceConcurrency(ctx context.Context, replicaID string, concurrency int) error
}

// sweepStore is what sweeps ask.
type sweepStore interface {
	Survey(ctx context.Context, replicaID string, w store.Capabilities, depth store.SurveyDepth) (store.Survey, error)
	Blockers(ctx context.Context) ([]store.HoldUp, error)
	Clock(ctx context.Context) (time.Time, error)
	DeadReplicas(ctx context.Context, contact time.Duration) ([]string, error)
	EndFrozenSessions(ctx context.Context, limit time.Duration) ([]int32, error)
	EndDeadReplica(ctx context.Context, replicaID string) ([]store.Ended, error)
	EndOverdue(ctx context.Context, contact store.Contact) ([]store.Ended, error)
	AgeRuns(ctx context.Context, most int) (int, bool, error)
	SweepSchedules(ctx context.Context, after int64, most int) (int64, int, error)
	NoteOrphans(ctx context.Context, patience, every time.Duration) (int, error)
	RemoveOldHeartbeats(ctx context.Context, older time.Duration) (int64, error)
	RemoveOldNotes(ctx context.Context) (int64, error)
	RemoveOldWorkerRequests(ctx context.Context) error
	RemoveOld(ctx context.Context, keep store.Retention, watch func(store.Removed)) (store.Removed, error)
}

// recoveryStore is what a recovery from an outage asks.
type recoveryStore interface {
	LookForOutage(ctx context.Context, lease time.Duration, w store.Capabilities) (store.Outage, error)
	BeginRecovery(ctx context.Context, o store.Outage) (int64, error)
	CountRecovery(ctx context.Context, id, started int64, c store.Counting) (bool, *store.Recovery, error)
	TakeRecoveryStarts(ctx context.Context, id int64, want int, rate, burst float64) (int, time.Duration, error)
	GiveRecoveryStarts(ctx context.Context, id int64, unused int, rate float64) error
}
