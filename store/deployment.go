package store

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrElsewhere says that the deployment belongs to another server or database, of which this one is a copy.
var ErrElsewhere = errors.New("this database is a copy of another deployment's")

// Whereabouts are what a deployment says of where it belongs, and what the server says of where that is.
type Whereabouts struct {
	ID string // of the deployment, a uuid
	// Elsewhere: it belongs to another server or database.
	Elsewhere bool
	// The server's identity, the database's oid and the server's history (a promotion begins another), as they were
	// written down and as they are; nil: not known.
	RecordedSystem, System     *int64
	RecordedDatabase, Database *int64
	RecordedTimeline, Timeline *int64
}

// Whereabouts asks where the deployment belongs.
func (s *Store) Whereabouts(ctx context.Context) (Whereabouts, error) {
	return collectOne(ctx, s, "read whereabouts", statement("whereabouts"), pgx.RowToStructByName[Whereabouts])
}

// Why says in which way a deployment is elsewhere, and what a person does about it.
func (w *Whereabouts) Why() string {
	var differs []string
	if differ(w.RecordedSystem, w.System) {
		differs = append(differs, "server "+figure(w.RecordedSystem)+", this is "+figure(w.System))
	}
	if differ(w.RecordedDatabase, w.Database) {
		differs = append(differs, "database oid "+figure(w.RecordedDatabase)+", this is "+figure(w.Database))
	}
	return "deployment " + w.ID + " belongs to another place (" + strings.Join(differs, "; ") + "): this database was copied or restored. " +
		"Nothing is claimed, promoted, sent or failed here until a person has said which: `rowrun migrate deployment new` " +
		"(a copy beside its origin) or `rowrun migrate deployment moved` (the origin is gone: a restore, pg_upgrade)"
}

// Promoted says that the server began another history since: it was a standby, or was restored to a point in time.
func (w *Whereabouts) Promoted() bool { return !w.Elsewhere && differ(w.RecordedTimeline, w.Timeline) }

func differ(a, b *int64) bool { return a != nil && b != nil && *a != *b }

func figure(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return strconv.FormatUint(uint64(*n), 10) //nolint:gosec // the server's identity is written without a sign
}
