package sqlexec_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/sqlexec"
	"github.com/rowrun/rowrun/store/storetest"
)

func newRunWithParams(t *testing.T, sql string, transaction bool, params string) *record {
	t.Helper()
	r := newRun(t, sql, transaction)
	payload, err := json.Marshal(map[string]any{"sql": sql, "transaction": transaction, "params": json.RawMessage(params)})
	require.NoError(t, err)
	r.Payload = payload
	return r
}

// Values are parameters of each statement that has any, and never text of it.
func TestStatementsTakeParameters(t *testing.T) {
	t.Parallel()
	for name, transaction := range map[string]bool{"in a transaction": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storetest.Empty(t)
			r := newRunWithParams(t, `CREATE TABLE t (a text, b int, c boolean, d jsonb, e text);
				INSERT INTO t VALUES ($1, $2, $3, $4, $5); INSERT INTO t VALUES ($1); SELECT '$6'`,
				transaction, `["x'); DROP TABLE t; --", 7, true, {"k": [1, null]}, null]`)
			result, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), r.Run)
			require.NoError(t, err)
			require.Equal(t, map[string]any{"statements": 4, "rows_affected": int64(2)}, result.Output)
			require.Equal(t, `x'); DROP TABLE t; --|7|true|{"k": [1, null]}|NULL`, value[string](t, connect(t, url),
				`SELECT concat_ws('|', a, b, c::text, d, coalesce(e, 'NULL')) FROM t WHERE b = 7`))
		})
	}
}

func TestParametersThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	for params, want := range map[string]string{
		`[1]`:      `the statement has $2, and "params" in the payload has 1 values`,
		`{"a": 1}`: `"params" in the payload must be an array of at most 65535 values`,
	} {
		_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), newRunWithParams(t, `SELECT $1::int, $2::int`, true, params).Run)
		f := failure(t, err)
		require.Equal(t, scheduler.CodeBadInput, f.Code)
		require.Contains(t, f.Detail, want)
	}
	_, err := executor(t, sqlexec.Target{URL: url}).Execute(t.Context(), newRunWithParams(t, `SELECT $1::int`, true, `["no number"]`).Run)
	require.Equal(t, "22P02", failure(t, err).Code)
}
