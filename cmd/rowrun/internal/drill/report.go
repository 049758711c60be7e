package drill

import "time"

// Report is what a team files. Its members are a promise: others are added, none changes or goes.
type Report struct {
	Drill      string     `json:"drill"` // its name, which its rows carried
	Passed     bool       `json:"passed"`
	Mode       string     `json:"mode"` // ModeWorkers or ModeByHand
	BeganAt    time.Time  `json:"began_at"`
	OutageAt   *time.Time `json:"outage_at"` // by the database's clock, as all times here; null: it didn't come to that
	EndedAt    time.Time  `json:"ended_at"`
	Program    Program    `json:"program"`
	Deployment Deployment `json:"deployment"`
	Queue      string     `json:"queue"`
	Type       string     `json:"type"`
	Lost       []Lost     `json:"lost_workers"`
	Runs       Runs       `json:"runs"`
	Steps      []Step     `json:"steps"`
	Alerts     []Alert    `json:"alerts"`
	Notes      []string   `json:"notes"`
}

// Who stops the workers.
const (
	ModeWorkers = "workers" // the drill kills processes of its own
	ModeByHand  = "by-hand" // a person stops replicas
)

// Program is the one that holds the drill.
type Program struct {
	Version  string `json:"version"`
	Platform string `json:"platform"`
}

// Deployment is where it happened.
type Deployment struct {
	ID            string `json:"id"`
	ServerVersion string `json:"server_version"`
	SchemaVersion int64  `json:"schema_version"`
	Others        int    `json:"other_replicas"` // that lived when it began, admins included: they settle what is lost
}

// Lost is a worker that was stopped.
type Lost struct {
	ReplicaID     string    `json:"replica_id"`
	Name          string    `json:"name"`
	LeaseMS       int64     `json:"lease_ms"`
	LastHeartbeat time.Time `json:"last_heartbeat"`
	Running       int       `json:"running"` // runs that it had
}

// Runs counts chains.
type Runs struct {
	Inserted int `json:"inserted"`
	Lost     int `json:"lost"`    // RUNNING on the workers when these were stopped
	Settled  int `json:"settled"` // of them FAILED as STALE, with a successor
	Done     int `json:"done"`    // of the inserted ones
}

// The steps, in their order.
const (
	StepStarted   = "started"
	StepStopped   = "stopped"
	StepNoticed   = "noticed"
	StepAlerted   = "alerted"
	StepSettled   = "settled"
	StepRecovered = "recovered"
	StepCleaned   = "cleaned"
)

// Step is one of them and how it ended.
type Step struct {
	Name   string `json:"step"`
	Passed bool   `json:"passed"`
	// AfterMS is how long it took: from the outage on, but for started, stopped and cleaned, and for what comes after new workers
	// (recovered; settled, where no other replica lived), which counts from their first registration.
	AfterMS  int64  `json:"after_ms"`
	WithinMS int64  `json:"within_ms"` // the deadline
	Reason   string `json:"reason"`    // of the deadline
	Found    string `json:"found"`
}

// Alert is what one source of monitoring said.
type Alert struct {
	Source string `json:"source"` // rowrun.health, status --check, or an endpoint of --metrics-url
	Told   bool   `json:"told"`
	// AfterMS is how soon after the outage; null: it didn't.
	AfterMS *int64 `json:"after_ms"`
	Seen    string `json:"seen"`
	Rule    string `json:"rule"` // of deploy/prometheus/rowrun.rules.yml that asks for this figure; "" where none does
}
