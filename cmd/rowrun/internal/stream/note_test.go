package stream_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// What is to be said besides transitions is printed once, by the replica that writes the stream.
func TestNotesArePrintedOnce(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	db := pool(t, url)
	all := []*candidate{stand(t, url, "one"), stand(t, url, "two")}
	writer(t, all)
	exec(t, db, `INSERT INTO rowrun.stream_note (event, message, detail)
		VALUES ('task_run.stalled', 'task run stalled', '{"run_id": 7, "message": "not this", "task": "a \"b\""}')`)
	eventually(t, "it is printed", func() bool {
		return queryID(t, db, `SELECT count(*) FROM rowrun.stream_note WHERE printed_at IS NULL`) == 0
	})
	printed := all[0].String() + all[1].String()
	require.Equal(t, 1, strings.Count(printed, "task_run.stalled"), printed)
	require.Contains(t, printed, `"stream":"task_run","event":"task_run.stalled","run_id":7,"task":"a \"b\"","message":"task run stalled"}`)
	require.Contains(t, printed, `{"level":"warn","time":"20`)
}
