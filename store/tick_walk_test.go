package store_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// A zone's clock is walked minute by minute around one of its changes; what a schedule should do is read off it: a
// minute that is shown, one that is shown again, and those that were left out.
func TestTicksAreThoseOfAWalkThroughEachMinute(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	rng := rand.New(rand.NewPCG(uint64(storetest.Seed(t)), 1)) //nolint:gosec // not a secret
	zones := []string{
		"America/New_York", "Europe/London", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca",
		"America/St_Johns", "Asia/Kathmandu", "Pacific/Chatham", "Asia/Pyongyang", "America/Caracas", "Antarctica/Troll", "Pacific/Kwajalein",
	}
	for range storetest.Count(40, 1000) {
		zone := zones[rng.IntN(len(zones))]
		change := aChange(t, conn, rng, zone)
		from := change.Add(-time.Duration(rng.IntN(40)) * time.Hour).Truncate(time.Minute)
		w := walk(t, conn, zone, from.Add(-26*time.Hour), from.Add(60*time.Hour))
		for range 5 {
			spec := randomCron(rng)
			after := from.Add(time.Duration(rng.IntN(3600)) * time.Second)
			var want, got []time.Time
			for _, u := range w.ticks(spec) {
				if u.After(after) && u.Before(from.Add(50*time.Hour)) && len(want) < 60 {
					want = append(want, u)
				}
			}
			for at := after; len(got) < 60; {
				next := query[*time.Time](t, conn, `SELECT rowrun.next_tick($1, $2, $3)`, spec.text, zone, at)
				if next == nil || !next.Before(from.Add(50*time.Hour)) {
					break
				}
				at = next.UTC()
				got = append(got, at)
			}
			require.Equal(t, want, got, "%q in %s after %s", spec.text, zone, after)
		}
	}
}

// aChange is near a moment at which the zone's clock was changed, or any moment where it wasn't in 60 years.
func aChange(t *testing.T, conn *pgx.Conn, rng *rand.Rand, zone string) time.Time {
	t.Helper()
	start := time.Date(1970+rng.IntN(65), 1, 1, 0, 0, 0, 0, time.UTC)
	at := query[*time.Time](t, conn, `SELECT min(d) FROM (
		SELECT d, (d AT TIME ZONE $1) - (d AT TIME ZONE 'UTC') AS o, lag((d AT TIME ZONE $1) - (d AT TIME ZONE 'UTC')) OVER (ORDER BY d) AS b
		FROM generate_series($2::timestamptz, $2::timestamptz + interval '3 years', '12 hours') d) x WHERE o <> b`, zone, start)
	if at == nil {
		return start
	}
	return at.UTC()
}

// walked is what a clock showed at each minute.
type walked struct {
	at    []time.Time
	shown []time.Time // as if it were UTC
}

func walk(t *testing.T, conn *pgx.Conn, zone string, from, to time.Time) walked {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT m, m AT TIME ZONE $1 FROM generate_series($2::timestamptz, $3::timestamptz, '1 minute') m`, zone, from, to)
	require.NoError(t, err)
	var w walked
	var at, shown time.Time
	_, err = pgx.ForEachRow(rows, []any{&at, &shown}, func() error {
		w.at, w.shown = append(w.at, at.UTC()), append(w.shown, shown)
		return nil
	})
	require.NoError(t, err)
	return w
}

func (w walked) ticks(spec cronSpec) []time.Time {
	var ticks []time.Time
	latest := w.shown[0]
	for i := 1; i < len(w.at); i++ {
		due := spec.matches(w.shown[i]) && (!spec.fixed || w.shown[i].After(latest))
		for left := w.shown[i-1].Add(time.Minute); left.Before(w.shown[i]); left = left.Add(time.Minute) {
			due = due || spec.fixed && spec.matches(left)
		}
		if due {
			ticks = append(ticks, w.at[i])
		}
		if w.shown[i].After(latest) {
			latest = w.shown[i]
		}
	}
	return ticks
}

// cronSpec is a schedule and, apart from its text, the numbers that each field lets through.
type cronSpec struct {
	text   string
	fields [5]map[int]bool
	either bool
	fixed  bool
}

func (s cronSpec) matches(at time.Time) bool {
	day, weekday := s.fields[2][at.Day()], s.fields[4][int(at.Weekday())]
	return s.fields[0][at.Minute()] && s.fields[1][at.Hour()] && s.fields[3][int(at.Month())] &&
		(day && weekday || s.either && (day || weekday))
}

func randomCron(rng *rand.Rand) cronSpec {
	bounds := [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
	s := cronSpec{fixed: true}
	var texts []string
	star := [5]bool{}
	for f, b := range bounds {
		s.fields[f] = map[int]bool{}
		kind := rng.IntN(4)
		if f > 1 && rng.IntN(3) > 0 {
			kind = 0 // few restricted dates: most ticks lie in the days that are walked
		}
		switch kind {
		case 0, 1:
			step := 1
			text := "*"
			if kind == 1 {
				step = 1 + rng.IntN(b[1]/2)
				text = fmt.Sprintf("*/%d", step)
			}
			for n := b[0]; n <= b[1]; n += step {
				s.fields[f][n] = true
			}
			texts, star[f] = append(texts, text), true
			s.fixed = s.fixed && f > 1
		case 2:
			first := b[0] + rng.IntN(b[1]-b[0]+1)
			last := first + rng.IntN(b[1]-first+1)
			for n := first; n <= last; n++ {
				s.fields[f][n] = true
			}
			texts = append(texts, fmt.Sprintf("%d-%d", first, last))
		default:
			var list []string
			for range 1 + rng.IntN(4) {
				n := b[0] + rng.IntN(b[1]-b[0]+1)
				s.fields[f][n] = true
				list = append(list, strconv.Itoa(n))
			}
			texts = append(texts, strings.Join(list, ","))
		}
	}
	s.either = !star[2] && !star[4]
	s.text = strings.Join(texts, " ")
	return s
}
