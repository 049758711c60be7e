package store

import (
	"errors"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// bounded is a time as this program works with it: what lies outside of the years 1 to 9999, infinity too, becomes the
// nearest moment that doesn't. That is what JSON and people can read; a row may hold infinity, and years from 4714 BC to
// 294276.
func bounded(t pgtype.Timestamptz) time.Time {
	firstMoment := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	lastMoment := time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	switch {
	case t.InfinityModifier == pgtype.Infinity || t.InfinityModifier == pgtype.Finite && t.Time.After(lastMoment):
		return lastMoment
	case t.InfinityModifier == pgtype.NegativeInfinity || t.Time.Before(firstMoment):
		return firstMoment
	}
	return t.Time
}

// BoundTime is a time in PostgreSQL's text form as rows are told: like the times that the store reads itself. Its error
// says that the text is no such time.
func BoundTime(text string) (time.Time, error) {
	m := pgtype.NewMap()
	useBoundedTimes(m)
	var t time.Time
	err := m.Scan(pgtype.TimestamptzOID, pgtype.TextFormatCode, []byte(text), &t)
	return t, err
}

// useBoundedTimes has a connection read every timestamptz as bounded does. Without it a row with infinity is one that no
// time.Time takes, and its whole answer is lost.
func useBoundedTimes(m *pgtype.Map) {
	m.RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &boundedCodec{}})
}

type boundedCodec struct{ pgtype.TimestamptzCodec }

// PlanScan reads a time.Time and a pgtype.Timestamptz within bounds; other targets are pgx's.
func (c *boundedCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	switch target.(type) {
	case *time.Time, *pgtype.Timestamptz:
		if next := c.TimestamptzCodec.PlanScan(m, oid, format, &pgtype.Timestamptz{}); next != nil {
			return boundedPlan{next}
		}
	}
	return c.TimestamptzCodec.PlanScan(m, oid, format, target)
}

type boundedPlan struct{ next pgtype.ScanPlan }

func (p boundedPlan) Scan(src []byte, dst any) error {
	var t pgtype.Timestamptz
	if err := p.next.Scan(src, &t); err != nil {
		return err
	}
	if !t.Valid {
		if dst, ok := dst.(*pgtype.Timestamptz); ok {
			*dst = t
			return nil
		}
		return errors.New("cannot scan NULL into *time.Time")
	}
	t.Time, t.InfinityModifier = bounded(t), pgtype.Finite
	switch dst := dst.(type) {
	case *time.Time:
		*dst = t.Time
	case *pgtype.Timestamptz:
		*dst = t
	}
	return nil
}

// Milliseconds is so many as a duration; beyond what that holds (292 years) it is the longest one.
func Milliseconds(ms float64) time.Duration { return duration(ms / 1000) }

// duration is so many seconds; beyond what a time.Duration holds (292 years) it is the longest one.
func duration(seconds float64) time.Duration {
	switch nanoseconds := seconds * float64(time.Second); {
	case nanoseconds >= math.MaxInt64:
		return math.MaxInt64
	case nanoseconds <= math.MinInt64:
		return math.MinInt64
	case nanoseconds != nanoseconds: // NaN
		return 0
	default:
		return time.Duration(nanoseconds)
	}
}
