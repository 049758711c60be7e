package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A limit that is lowered counts what holds its places under the key that was drawn at the INSERT, whatever has become of the payload and the input: no
// run takes a place of another key.
func TestALoweredLimitCountsTheKeyThatWasDrawn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims int
		edit   string
	}{
		"RUNNING, another payload":   {1, `UPDATE rowrun.task SET payload = '{"tenant": "b"}'`},
		"AVAILABLE, another payload": {0, `UPDATE rowrun.task SET payload = '{"tenant": "b"}'`},
		"AVAILABLE, another input":   {0, `UPDATE rowrun.task_run SET input = '{"tenant": "b"}'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('tenants', '{tenant}', 2)`)
			exec(t, conn, `UPDATE rowrun.task SET payload = '{"tenant": "a"}'`)
			newRun(t, conn, task)
			require.Len(t, work(t, s, c.claims).Claims, c.claims)
			exec(t, conn, `UPDATE rowrun.concurrency_limit SET max_running = 1`)
			exec(t, conn, c.edit)
			promoteAll(t, conn)
			require.Equal(t, []string{"a"}, query[[]string](t, conn, `SELECT array_agg(split_part(limit_key, ':', 2)) FROM rowrun.limit_holder`))
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"tenant": "b"}')`, task)
			require.Len(t, work(t, s, 10).Claims, 2-c.claims, "one of each key")
		})
	}
}
