package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClaimsAreReadFromTheLinesOfClaims(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, []byte(`{"level":"info","time":"2026-11-21T09:00:00.000500Z","run_id":7,"message":"run claimed"}
not JSON
{"level":"info","time":"2026-11-21T09:00:01.000000Z","run_id":7,"message":"run ended"}
{"level":"info","time":"2026-11-21T09:00:00.002000Z","run_id":8,"message":"run claimed"}
`), 0o600))
	began, err := claimsByLog(t.Context(), nil, &replica{log: path})
	require.NoError(t, err)
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	waits, err := delays([]sending{{8, at}, {7, at}}, began)
	require.NoError(t, err)
	require.Equal(t, []float64{2, 0.5}, waits)
	_, err = delays([]sending{{9, at}}, began)
	require.EqualError(t, err, "it isn't known when run 9 began")
	_, err = claimsByLog(t.Context(), nil, &replica{log: path + ".gone"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestPaceIsTheMedianBesideThatOfOthers(t *testing.T) {
	t.Parallel()
	c := &contender{name: "c", rate: []float64{100, 300, 200}}
	other := &contender{name: "other", rate: []float64{400, 350, 500}}
	require.Equal(t, "200 (100 to 300); 0.50 × other", c.pace(c, other))
}
