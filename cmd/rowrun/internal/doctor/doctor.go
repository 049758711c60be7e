package doctor

import (
	"context"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

// Severity says what a finding asks for.
type Severity string

// The severities.
const (
	Fine    Severity = "ok"      // looked at, nothing to do
	Note    Severity = "note"    // worth knowing
	Warning Severity = "warning" // will hurt
)

// Finding is what is said of one thing.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	Fix      string   `json:"fix"` // the command that mends it; "" where there is nothing to do
}

// Config says what is looked at. Every field is required but ConfigPath.
type Config struct {
	Database *database.Config // resolved
	// Patience is how long a database that can't be reached is waited for.
	Patience time.Duration
	// SnapshotAge is how long a snapshot may be held.
	SnapshotAge time.Duration
	ConfigPath  string // YAML file of the sidecars; "": none
	Lookup      func(string) (string, bool)
	Version     string // of the program
	Log         zerolog.Logger
}

// doctor has looked at a deployment so far.
type doctor struct {
	Config
	store *store.Store
	now   func() time.Time
	// patience is how long a check may take.
	patience time.Duration

	hears    bool // notifications arrive where replicas listen
	hearsErr error
	server   store.ServerFacts
	schema   int64
	owner    string   // of the tables; set by checkRole
	lockers  []locker // who has locked tables, as far as it was told
	findings []Finding
}

// Examine looks at everything. A database that doesn't answer is a finding, and so is a check that gets no answer; a database
// that is lost meanwhile is an error, with what was found before.
func Examine(ctx context.Context, config Config) ([]Finding, error) {
	d := doctor{Config: config, now: time.Now, patience: database.AnswerPatience}
	d.checkConfig()
	// Beside the wait, so that both are within its time.
	reached := startReach(ctx, d.Database.DirectURL, d.Patience)
	err := connect.Wait(ctx, d.Database.DirectURL, d.Database.Source, d.Patience, d.Log)
	looked := reached(err != nil)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		d.reportDead(err, looked)
		return d.findings, nil
	}
	probe, cancel := context.WithTimeout(ctx, database.AnswerPatience)
	d.hears, d.hearsErr = hears(probe, d.Database.DirectURL)
	cancel()
	opened, err := store.Open(ctx, store.Config{URL: d.Database.DirectURL, AppName: "rowrun doctor", MaxConns: 2, Pooled: !d.hears})
	if err != nil {
		return d.findings, err
	}
	defer opened.Close()
	d.store = opened
	return d.findings, database.InWords(d.examine(ctx))
}

func (d *doctor) add(check string, s Severity, text, fix string) {
	const most = 1000 // cells: what stands in a row may be of any length
	d.findings = append(d.findings, Finding{Check: check, Severity: s, Text: cli.Cut(text, most), Fix: fix})
}

// grants gives the role what a sidecar needs.
func (d *doctor) grants() string {
	if d.server.Member || !d.server.Known {
		return "rowrun migrate grants  # as the owner of the schema"
	}
	return "GRANT rowrun_replica TO " + quoteIdentifier(d.server.Role) + ";"
}

// firstFew names the first few.
func firstFew(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

func quoteIdentifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func quoteLiteral(text string) string    { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
