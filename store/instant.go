package store

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// Instant is a moment as the dashboard is told it: bounded, in UTC, with microseconds.
type Instant struct{ time.Time }

// ScanTimestamptz reads one; pgx calls it.
func (i *Instant) ScanTimestamptz(v pgtype.Timestamptz) error {
	if v.Valid {
		i.Time = bounded(v).UTC()
	}
	return nil
}

// MarshalJSON writes six digits of the second, always.
func (i Instant) MarshalJSON() ([]byte, error) {
	return i.UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000000Z"`), nil
}
