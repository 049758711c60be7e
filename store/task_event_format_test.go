package store_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// Each event outside plans in each format: one line each of what happened, and of what users wrote nothing but text.
func TestEveryEventIsSaidInEveryFormat(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.webhook (url, format, events) SELECT 'https://example.com', f, '{RUN_FAILED,SCHEDULE_PAUSED,TYPE_ORPHANED}'
		FROM unnest('{standard,slack,teams,discord,cloudevents}'::text[]) f`)
	const kind = `<!here> @x *t* {{DATE(1)}} "q" \`
	task := query[int64](t, conn, `INSERT INTO rowrun.task (name, type, schedule) VALUES ($1, $2, '@every 1h') RETURNING id`, hostileName, kind)
	run := began(t, conn, task)
	exec(t, conn, `SET ROLE rowrun_replica`)
	require.Equal(t, "FAILED", query[string](t, conn, endOne, run, "FAILED", strings.Repeat("\x01&<", 5000)))
	exec(t, conn, `SELECT rowrun.pause_schedule($1, 'no such zone')`, task)
	exec(t, conn, `RESET ROLE; INSERT INTO rowrun.orphan_type (type, pending, available) SELECT type, 1, 2 FROM rowrun.task`)
	exec(t, conn, `SET ROLE rowrun_replica; SELECT rowrun.announce_orphans(ARRAY[$$`+kind+`$$]); RESET ROLE`)
	rows, err := conn.Query(t.Context(), `SELECT w.format, d.event_type, d.payload FROM rowrun.webhook_delivery d JOIN rowrun.webhook w ON w.id = d.webhook_id`)
	require.NoError(t, err)
	says := map[string]string{"RUN_FAILED": "Run failed", "SCHEDULE_PAUSED": "Schedule paused", "TYPE_ORPHANED": "Type orphaned"}
	seen := map[string]bool{}
	for rows.Next() {
		var format, event, body string
		require.NoError(t, rows.Scan(&format, &event, &body))
		seen[format+event] = true
		require.True(t, json.Valid([]byte(body)), "%s of %s", event, format)
		require.Less(t, len(body), 20_000, "%s of %s", event, format)
		require.Contains(t, body, says[event], format)
		require.NotContains(t, body, "/runs/", "nobody has said where the dashboard is")
		switch format {
		case "slack":
			require.NotContains(t, body, "<")
			require.NotContains(t, body, "@x")
		case "teams":
			require.NotContains(t, body, "{{DATE")
		case "discord":
			require.NotContains(t, body, "<!")
			require.NotContains(t, body, " *t")
		case "cloudevents":
			require.Contains(t, body, `"type":"com.github.rowrun.`+event+`"`)
			require.Contains(t, body, `"subject":"`)
		}
	}
	require.NoError(t, rows.Err())
	require.Len(t, seen, 15)
}
