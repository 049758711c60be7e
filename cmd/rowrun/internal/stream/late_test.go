package stream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// A run that was due a while after its insert waited since the one, and is late since the other, whatever the line is read from.
func TestAStartTellsHowLateItIs(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"listen", "wal"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			p := pool(t, url)
			var out *output
			if source == "wal" {
				c := standByLog(t, url, "a", true)
				c.awaitSource(t, "wal")
				out = &c.output
			} else {
				out = &watch(t, url, nil).output
			}
			run := queryID(t, p, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '20 ms') RETURNING id`, task(t, p, "due", "NOOP"))
			exec(t, p, `SELECT pg_sleep(0.02)`)
			exec(t, p, `UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE id = $1`, run)
			exec(t, p, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'me' WHERE id = $1`, run)
			eventually(t, "its start is told", func() bool { return statuses(out.of(t, run)) == "PENDING AVAILABLE RUNNING" })
			start := out.of(t, run)[2]
			require.NotNil(t, start.LateMs)
			require.Positive(t, *start.LateMs)
			require.InDelta(t, 20, *start.WaitMs-*start.LateMs, 0.002)
		})
	}
}
