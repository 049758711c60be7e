package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// 10,000 schedules are due at one second. Ids are drawn from 1 on, so that the outcome is always the same.
func TestSchedulesDueAtOneSecondAreSpread(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.task (type, schedule, spread) SELECT 'NOOP', '0 3 * * *', '1 hour' FROM generate_series(1, 10000)`)
	for name, c := range map[string]struct {
		bucket      string
		least, most int
		buckets     int
	}{
		"minutes": {"minute", 110, 230, 60}, // 167 on the average, with a deviation of 13
		"seconds": {"second", 0, 15, 0},     // fewer than 3 on the average
	} {
		var least, most, buckets int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT min(n), max(n), count(*) FROM (
			SELECT count(*) AS n FROM rowrun.task_run GROUP BY date_trunc($1, run_at)) b`, c.bucket).Scan(&least, &most, &buckets))
		require.GreaterOrEqual(t, least, c.least, name)
		require.LessOrEqual(t, most, c.most, name)
		if c.buckets > 0 {
			require.Equal(t, c.buckets, buckets, name)
		}
	}
	require.Equal(t, 1, query[int](t, conn, `SELECT count(DISTINCT tick) FROM rowrun.task_run`))
	require.True(t, query[bool](t, conn, `SELECT bool_and(run_at >= tick AND run_at < tick + interval '1 hour') FROM rowrun.task_run`))
}

// A tick whose run is still to come, because of its spread, has not passed while the run before it was under way.
func TestSpreadPutsTheNextTickOffByAsMuch(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	early, late := 0, 0
	for range 12 {
		id := recur(t, conn, "", "SKIP", "SKIP") // its grid began 9.5 h ago
		exec(t, conn, `UPDATE rowrun.task SET spread = '1 hour' WHERE id = $1`, id)
		off := query[float64](t, conn, `SELECT extract(epoch FROM rowrun.spread_of(k)) / 3600 FROM rowrun.task k WHERE id = $1`, id)
		want := 9
		switch {
		case off > 0.51:
			late++
		case off < 0.49:
			want = 10
			early++
		default:
			continue // now it is the one, soon the other
		}
		run := begin(t, conn, id, 8, 8, 8)
		_, _, err := s.EndRuns(t.Context(), []store.Ending{{ID: run}}, 0)
		require.NoError(t, err)
		require.Equal(t, want, query[int](t, conn, tickOf, id), "put off by %f h", off)
		require.True(t, query[bool](t, conn, `SELECT r.run_at = r.tick + rowrun.spread_of(k) AND r.run_at > clock_timestamp() AND r.missed_at = r.run_at + interval '1 min'
			FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE k.id = $1 AND r.status = 'PENDING'`, id))
	}
	require.Positive(t, early)
	require.Positive(t, late)
}

func TestMissedTickIsFollowedByOneThatIsSpread(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, s := connect(t, url), open(t, url, time.Minute)
	addReplica(t, conn, "r")
	id := recur(t, conn, "", "SKIP", "SKIP")
	exec(t, conn, `UPDATE rowrun.task SET spread = '30 min' WHERE id = $1`, id)
	exec(t, conn, `UPDATE rowrun.task_run SET run_at = clock_timestamp() - interval '1 hour' WHERE task_id = $1 AND status = 'PENDING'`, id)
	_, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep, Want: 10})
	require.NoError(t, err)
	require.True(t, query[bool](t, conn, `SELECT r.run_at = r.tick + rowrun.spread_of(k) AND r.run_at > clock_timestamp()
		FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE k.id = $1 AND r.status = 'PENDING'`, id))
}

func TestChangedSpreadMovesTheRunThatWaits(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	id := query[int64](t, conn, `INSERT INTO rowrun.task (type, schedule, starts_at) VALUES ('NOOP', '@every 10m', '2100-01-01') RETURNING id`)
	change := func(sql string) { exec(t, conn, `UPDATE rowrun.task SET `+sql+` WHERE id = $1`, id) }
	off := func() float64 {
		return query[float64](t, conn, `SELECT extract(epoch FROM run_at - tick) FROM rowrun.task_run
			WHERE task_id = $1 AND status = 'PENDING' AND tick = '2100-01-01' AND missed_at = run_at + interval '1 min'`, id)
	}
	part := query[float64](t, conn, `SELECT extract(epoch FROM rowrun.spread_of(jsonb_populate_record(k, '{"spread": "10 min"}'))) / 600 FROM rowrun.task k`)
	require.Greater(t, part, 0.0)
	require.Less(t, part, 1.0)
	require.Zero(t, off())
	change(`spread = '10 min'`)
	require.InDelta(t, 600*part, off(), 0.001)
	change(`spread = '1 min'`)
	require.InDelta(t, 60*part, off(), 0.001)
	exec(t, conn, `UPDATE rowrun.task_run SET run_at = run_at + interval '5 s' WHERE task_id = $1`, id)
	change(`spread = '10 min', queue = 'slow'`)
	require.InDelta(t, 600*part+5, off(), 0.001, "put off by a person")
	require.Equal(t, "slow", query[string](t, conn, `SELECT queue FROM rowrun.task_run WHERE task_id = $1 AND status = 'PENDING'`, id))
	change(`schedule = '@every 20m', spread = '20 min'`)
	require.InDelta(t, 1200*part, off(), 0.001)
	change(`spread = NULL`)
	require.Zero(t, off())
}

func TestSpreadBeyondTheNextTickIsRefused(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	for _, c := range []struct{ schedule, spread, refused string }{
		{"@every 1h", "1 hour", ""},
		{"@every 1h", "61 min", "RR003"},
		{"@after 10m", "11 min", "RR003"},
		{"*/15 9-17 * * MON", "15 min", ""},
		{"*/15 9-17 * * MON", "16 min", "RR003"},
		{"0 3 * * *", "1 day", ""},
		{"0 3 * * *", "25 hours", "RR003"},
		{"0 9 * * MON", "7 days", ""},
		{"0 9 * * MON", "8 days", "RR003"},
		{"0 0 29 2 *", "1 year", ""},
		{"-", "1 year", ""},
		{"@every 1h", "-1 s", "23514"},
		{"@every 87600h", "2 years", "23514"},
	} {
		_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task (type, schedule, spread) VALUES ('NOOP', $1, $2::text::interval)`, c.schedule, c.spread)
		if c.refused == "" {
			require.NoError(t, err, "%s %s", c.schedule, c.spread)
		} else {
			require.ErrorContains(t, err, c.refused, "%s %s", c.schedule, c.spread)
		}
	}
	id := query[int64](t, conn, `INSERT INTO rowrun.task (type, schedule, spread) VALUES ('NOOP', '@every 1h', '30 min') RETURNING id`)
	for _, change := range []string{`schedule = '@every 10m'`, `spread = '2 hours'`} {
		_, err := conn.Exec(t.Context(), `UPDATE rowrun.task SET `+change+` WHERE id = $1`, id)
		require.ErrorContains(t, err, "RR003", change)
	}
	_, err := conn.Exec(t.Context(), `UPDATE rowrun.task SET schedule = '@every 10m', spread = '5 min' WHERE id = $1`, id)
	require.NoError(t, err)
}

func TestScheduleIsMissedBehindItsSpreadOnly(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	id := recur(t, conn, "", "ONCE", "SKIP")
	exec(t, conn, `UPDATE rowrun.task SET spread = '1 hour' WHERE id = $1`, id)
	due := func(ago string) int {
		exec(t, conn, `SELECT set_config('rowrun.scheduling', 'on', false)`)
		exec(t, conn, `UPDATE rowrun.task_run r SET tick = clock_timestamp() - $2::text::interval - rowrun.spread_of(k), run_at = clock_timestamp() - $2::text::interval
			FROM rowrun.task k WHERE k.id = r.task_id AND k.id = $1`, id, ago)
		return query[int](t, conn, `SELECT missed_schedules FROM rowrun.health`)
	}
	require.Zero(t, due("30 s"))
	require.Equal(t, 1, due("90 s"))
}
