package crontab

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCrontabOfAUser(t *testing.T) {
	t.Parallel()
	read := Parse("# m h dom mon dow\r\n"+`
MAILTO=ops@example.com
PATH = "/usr/local/bin:/usr/bin"
30 2 * * *	/usr/bin/backup --full > /dev/null
CRON_TZ=Europe/Berlin
*/5 9-17 * * MON-FRI cd /srv/app && bin/sync "a b"
@daily backup --date $(date +\%F)
@reboot /usr/bin/start
0 0 * * * mail -s x ops%Hello%
every day at noon
5 4 * * sun
`, false)
	require.Equal(t, []Entry{
		{Line: 5, Name: "backup", Schedule: "30 2 * * *", Command: "/usr/bin/backup --full > /dev/null", Env: map[string]string{"PATH": "/usr/local/bin:/usr/bin"}},
		{Line: 7, Name: "app", Schedule: "*/5 9-17 * * MON-FRI", TimeZone: "Europe/Berlin", Command: `cd /srv/app && bin/sync "a b"`, Env: map[string]string{"PATH": "/usr/local/bin:/usr/bin"}},
		{Line: 8, Name: "backup-2", Schedule: "@daily", TimeZone: "Europe/Berlin", Command: "backup --date $(date +%F)", Env: map[string]string{"PATH": "/usr/local/bin:/usr/bin"}},
	}, read.Entries)
	require.Len(t, read.Notes, 1)
	require.Contains(t, read.Notes[0], "line 3: MAILTO: nothing is mailed")
	require.Len(t, read.Refused, 4)
	for i, says := range []string{"line 9: @reboot", "line 10: a % that", "line 11: is neither", "line 12: is neither"} {
		require.Contains(t, read.Refused[i], says)
	}
}

func TestCrontabOfTheSystemNamesUsers(t *testing.T) {
	t.Parallel()
	read := Parse("17 * * * * root cd / && run-parts --report /etc/cron.hourly\n* * * * * alone\n", true)
	require.Len(t, read.Entries, 1)
	require.Equal(t, "root", read.Entries[0].User)
	require.Equal(t, "cd / && run-parts --report /etc/cron.hourly", read.Entries[0].Command)
	require.Len(t, read.Refused, 1)
	require.Contains(t, read.Refused[0], "without --system")
}

func TestTZOfACrontabIsTheCommandsAndNotTheSchedules(t *testing.T) {
	t.Parallel()
	read := Parse("TZ=America/New_York\n0 3 * * * report\nCRON_TZ=Europe/Berlin\n0 4 * * * backup\n", false)
	require.Equal(t, []Entry{
		{Line: 2, Name: "report", Schedule: "0 3 * * *", Command: "report", Env: map[string]string{"TZ": "America/New_York"}},
		{Line: 4, Name: "backup", Schedule: "0 4 * * *", TimeZone: "Europe/Berlin", Command: "backup", Env: map[string]string{"TZ": "America/New_York"}},
	}, read.Entries)
	require.Equal(t, []string{"line 1: TZ goes to the commands; the zone of the schedule is that of CRON_TZ"}, read.Notes)
}

func FuzzParse(f *testing.F) {
	f.Add("* * * * * x\nA=b\n@daily y % z", true)
	f.Fuzz(func(t *testing.T, text string, system bool) {
		names := map[string]bool{}
		for _, e := range Parse(text, system).Entries {
			require.NotEmpty(t, e.Name)
			require.False(t, names[e.Name])
			names[e.Name] = true
		}
	})
}
