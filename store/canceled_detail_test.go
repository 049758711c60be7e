package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// Whatever its executor said of a run that was canceled stands behind the reason.
func TestACanceledRunKeepsWhatItsExecutorSaid(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	addReplica(t, conn, "r")
	task := query[int64](t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP') RETURNING id`)
	for result, want := range map[string]string{
		`{"code": "CANCELED", "detail": "Task run canceled"}`:                         "Task run canceled: why",
		`{"code": "CANCELED", "detail": "Task run canceled; it is unknown whether…"}`: "Task run canceled: why; it is unknown whether…",
		`{"code": "CANCELED", "detail": "my own words"}`:                              "Task run canceled: why (my own words)",
		`{"detail": "my own words"}`:                                                  "Task run canceled: why (my own words)",
		`{"code": "CANCELED"}`:                                                        "Task run canceled: why",
		`{"code": "CANCELED", "detail": ""}`:                                          "Task run canceled: why",
		`{}`:                                                                          "Task run canceled: why",
		`{"code": "TIMEOUT", "detail": "Task run timed out after 1s"}`:                "Task run canceled: why (TIMEOUT: Task run timed out after 1s)",
	} {
		run := began(t, conn, task)
		exec(t, conn, `SELECT rowrun.cancel_run($1, 'why')`, run)
		exec(t, conn, `SELECT FROM rowrun.end_runs(ARRAY[$1::bigint], ARRAY[NULL::uuid], '{FAILED}', ARRAY[$2::jsonb], '{NONE}')`, run, result)
		require.Equal(t, "CANCELED "+want, query[string](t, conn, `SELECT concat_ws(' ', status, result ->> 'detail') FROM rowrun.task_run WHERE id = $1`, run), result)
	}
}
