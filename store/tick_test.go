package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// Worked out by hand from the zones' rules: when the clock of each was put forward or back.
func TestTicksFollowTheZonesClock(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	for _, c := range []struct {
		name, schedule, zone, after string
		want                        []string
	}{
		// New York 2026: 8 March 02:00 -05 -> 03:00 -04, 1 November 02:00 -04 -> 01:00 -05.
		{
			"a time in the gap runs when the gap is over", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"},
		},
		{
			"several times in the gap run once", "0,20,40 2,3 * * *", "America/New_York", "2026-03-08T06:00:00Z",
			[]string{"2026-03-08T07:00:00Z", "2026-03-08T07:20:00Z", "2026-03-08T07:40:00Z", "2026-03-09T06:00:00Z"},
		},
		{
			"hourly at another minute than that of the gap's end", "30 * * * *", "America/New_York", "2026-03-08T05:45:00Z",
			[]string{"2026-03-08T06:30:00Z", "2026-03-08T07:30:00Z", "2026-03-08T08:30:00Z"},
		},
		{
			"steps within the hour that is left out wait for the next day", "*/20 2 * * *", "America/New_York", "2026-03-08T05:00:00Z",
			[]string{"2026-03-09T06:00:00Z", "2026-03-09T06:20:00Z"},
		},
		{
			"hourly over the gap", "0 * * * *", "America/New_York", "2026-03-08T05:30:00Z",
			[]string{"2026-03-08T06:00:00Z", "2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z"},
		},
		{
			"a fixed time in the repeated hour runs the first time", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"},
		},
		{
			"a range of fixed times too", "0-30/30 1 * * *", "America/New_York", "2026-11-01T04:30:00Z",
			[]string{"2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z", "2026-11-01T06:00:00Z", "2026-11-01T06:30:00Z", "2026-11-02T06:00:00Z"},
		},
		{
			"a list of fixed times runs once", "0,30 1 * * *", "America/New_York", "2026-11-01T04:30:00Z",
			[]string{"2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z", "2026-11-02T06:00:00Z"},
		},
		{
			"a step runs in both", "*/30 * * * *", "America/New_York", "2026-11-01T04:45:00Z",
			[]string{"2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z", "2026-11-01T06:00:00Z", "2026-11-01T06:30:00Z", "2026-11-01T07:00:00Z"},
		},
		{
			"every hour runs in both", "15 * * * *", "America/New_York", "2026-11-01T04:45:00Z",
			[]string{"2026-11-01T05:15:00Z", "2026-11-01T06:15:00Z", "2026-11-01T07:15:00Z"},
		},
		{
			"begun in the second pass, a fixed time waits for the next day", "45 1 * * *", "America/New_York", "2026-11-01T06:10:00Z",
			[]string{"2026-11-02T06:45:00Z"},
		},
		// London 2026: 29 March 01:00 +00 -> 02:00 +01, 25 October 02:00 +01 -> 01:00 +00.
		{
			"London's gap", "15 1 * * *", "Europe/London", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-30T00:15:00Z"},
		},
		{
			"London's repeated hour", "15 1 * * *", "Europe/London", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:15:00Z", "2026-10-26T01:15:00Z"},
		},
		// Lord Howe 2026: 5 April 02:00 +11 -> 01:30 +10:30, 4 October 02:00 +10:30 -> 02:30 +11.
		{
			"a gap of half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
			[]string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"},
		},
		{
			"a repeated half hour", "*/15 * * * *", "Australia/Lord_Howe", "2026-04-04T14:20:00Z",
			[]string{"2026-04-04T14:30:00Z", "2026-04-04T14:45:00Z", "2026-04-04T15:00:00Z", "2026-04-04T15:15:00Z", "2026-04-04T15:30:00Z"},
		},
		{
			"a fixed time in it", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z",
			[]string{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"},
		},
		// São Paulo 2018: 4 November 00:00 -03 -> 01:00 -02; 18 February 00:00 -02 -> 17 February 23:00 -03.
		{
			"midnight doesn't exist", "@daily", "America/Sao_Paulo", "2018-11-03T12:00:00Z",
			[]string{"2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		},
		{
			"the day is put back", "30 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00:00Z",
			[]string{"2018-02-18T01:30:00Z", "2018-02-19T02:30:00Z"},
		},
		// Apia went from 29 December 2011 24:00 -10 to 31 December 00:00 +14.
		{
			"a day that was left out", "0 12 * * *", "Pacific/Apia", "2011-12-29T20:00:00Z",
			[]string{"2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"},
		},
		{
			"the Friday that never was", "0 9 * * FRI", "Pacific/Apia", "2011-12-25T00:00:00Z",
			[]string{"2011-12-30T10:00:00Z", "2012-01-05T19:00:00Z"},
		},
		{"29 February", "0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"}},
		{"29 February across a century", "0 0 29 FEB *", "UTC", "2096-02-29T00:00:00Z", []string{"2104-02-29T00:00:00Z"}},
		{
			"the thirteenth or a Friday", "0 0 13 * FRI", "UTC", "2026-11-07T00:00:00Z",
			[]string{"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z", "2026-12-04T00:00:00Z", "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z"},
		},
		{
			"every second day, on Mondays", "0 0 */2 * MON", "UTC", "2026-11-01T00:00:00Z",
			[]string{"2026-11-09T00:00:00Z", "2026-11-23T00:00:00Z"},
		},
		{"7 is Sunday too", "0 0 * * 7", "UTC", "2026-11-21T00:00:00Z", []string{"2026-11-22T00:00:00Z"}},
		{"months without a 31st", "0 0 31 * *", "UTC", "2026-01-31T00:00:00Z", []string{"2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"}},
		{"a macro", "@weekly", "Europe/London", "2026-10-23T00:00:00Z", []string{"2026-10-24T23:00:00Z", "2026-11-01T00:00:00Z"}},
		{"never", "0 0 30 2 *", "UTC", "2026-01-01T00:00:00Z", []string{""}},
		{"disabled", "-", "UTC", "2026-01-01T00:00:00Z", []string{""}},
		{"a duration", "@every 1h30m", "UTC", "2026-01-01T00:00:00Z", []string{"2026-01-01T01:30:00Z", "2026-01-01T03:00:00Z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			after, err := time.Parse(time.RFC3339, c.after)
			require.NoError(t, err)
			for _, want := range c.want {
				next := query[*time.Time](t, conn, `SELECT rowrun.next_tick($1, $2, $3)`, c.schedule, c.zone, after)
				if want == "" {
					require.Nil(t, next)
					return
				}
				require.NotNil(t, next)
				require.Equal(t, want, next.UTC().Format(time.RFC3339Nano))
				after = *next
			}
		})
	}
}

func TestGridOfFixedRate(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	next := func(schedule, after, grid string) time.Time {
		return query[time.Time](t, conn, `SELECT rowrun.next_tick($1, 'UTC', $2::text::timestamptz, $3::text::timestamptz)`, schedule, after, grid).UTC()
	}
	grid := "2026-01-01T00:00:00Z"
	require.Equal(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), next("@every 10m", "2025-06-01T00:00:00Z", grid))
	require.Equal(t, time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC), next("@every 10m", grid, grid))
	require.Equal(t, time.Date(2031, 5, 5, 5, 40, 0, 0, time.UTC), next("@every 10m", "2031-05-05T05:31:07Z", grid))
	require.Equal(t, time.Date(2031, 5, 5, 5, 41, 7, 0, time.UTC), next("@after 10m", "2031-05-05T05:31:07Z", grid))
}

func TestWhatNobodyCanFollowIsRefused(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	insert := func(schedule, zone string) error {
		_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task (type, schedule, time_zone) VALUES ('NOOP', $1, $2)`, schedule, zone)
		return err
	}
	for _, schedule := range []string{
		"", "often", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * * 8",
		"*/0 * * * *", "5-1 * * * *", "1,,2 * * * *", "*-5 * * * *", "* * L * *", "* * * FOO *", "* * * * MON#2", "? * * * *",
		"0 0 30 2 *", "0 0 31 4,6,9,11 *", "@every", "@every 0s", "@every -5m", "@every 1d", "@after x", "@reboot", "1.5 * * * *",
	} {
		var refused interface{ SQLState() string }
		require.ErrorAs(t, insert(schedule, "UTC"), &refused, "%q", schedule)
		require.Equal(t, "RR003", refused.SQLState(), "%q", schedule)
	}
	for _, zone := range []string{"", "Mars/Olympus", "UTC+3", "CEST", "Europe/Berlin1", "x'y", "right/Europe/London"} {
		var refused interface{ SQLState() string }
		require.ErrorAs(t, insert("@daily", zone), &refused, "%q", zone)
		require.Equal(t, "RR003", refused.SQLState(), "%q", zone)
	}
	for _, zone := range []string{"UTC", "Europe/London", "Etc/GMT+3", "America/Port-au-Prince", "EST5EDT"} {
		require.NoError(t, insert("  @Daily ", zone))
	}
	exec(t, conn, `INSERT INTO rowrun.plan (name) VALUES ('p')`)
	_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task (plan_id, type, schedule) VALUES (1, 'NOOP', '@daily')`)
	require.ErrorContains(t, err, "RR003")
}
