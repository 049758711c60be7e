package main

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func openStore(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{URL: url, MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestMigrateUpDownAndStatus(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	latest := strconv.Itoa(migrations.Version())
	variables := map[string]string{"DATABASE_URL": url}
	require.ErrorContains(t, checkSchema(t.Context(), openStore(t, url)), "run `rowrun migrate up`")

	got := rowrun(t.Context(), t, variables, "migrate", "up")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Equal(t, latest+" migrations applied; the schema is at version "+latest+" of "+latest+"\n", got.stdout)
	require.NoError(t, checkSchema(t.Context(), openStore(t, url)))

	got = rowrun(t.Context(), t, variables, "migrate", "grants")
	require.Equal(t, exitDone, got.code, got.stderr)

	got = rowrun(t.Context(), t, variables, "migrate", "down", "1")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Contains(t, got.stdout, "1 migrations taken back; the schema is at version ")
	require.ErrorContains(t, checkSchema(t.Context(), openStore(t, url)), "this program needs "+latest)

	got = rowrun(t.Context(), t, variables, "migrate", "status", "-o", "json")
	require.Equal(t, exitDone, got.code, got.stderr)
	var status struct {
		Version, Latest int
		Current         bool
		Applied         []struct{ Version int }
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &status))
	require.Equal(t, migrations.Version(), status.Latest)
	require.Less(t, status.Version, status.Latest)
	require.False(t, status.Current)
	require.NotEmpty(t, status.Applied)
	require.Contains(t, got.stderr, "run `rowrun migrate up`")

	got = rowrun(t.Context(), t, variables, "migrate", "force", latest)
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Contains(t, got.stdout, "version "+latest+" written down")
}

func TestMigrateSQLAsksNoDatabase(t *testing.T) {
	t.Parallel()
	got := rowrun(t.Context(), t, nil, "migrate", "sql")
	require.Equal(t, exitDone, got.code, got.stderr)
	require.Contains(t, got.stdout, "CREATE TABLE rowrun.task_run")
	got = rowrun(t.Context(), t, nil, "migrate", "sql", "--from", strconv.Itoa(migrations.Version()))
	require.Equal(t, exitDone, got.code, got.stderr)
	require.NotContains(t, got.stdout, "CREATE TABLE rowrun.task_run ")
}

func TestMigrateRefusesWrongNumbers(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"migrate", "down"},
		{"migrate", "down", "0"},
		{"migrate", "down", "all"},
		{"migrate", "force", "9999"},
		{"migrate", "sql", "--from", "-1"},
	} {
		got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": someURL}, args...)
		require.Equal(t, exitUsage, got.code, "%v: %s", args, got.stderr)
		require.Contains(t, got.stderr, "accepted: ")
	}
	got := rowrun(t.Context(), t, nil, "migrate", "up")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.stderr, "rowrun dev")
}

func TestDatabaseThatDoesNotExistEndsTheWaiting(t *testing.T) {
	t.Parallel()
	url := storetest.Cluster(t).SocketURL("not_there")
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "migrate", "up")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stderr, "(DATABASE_URL): no such database, create it or name another")
	require.NoError(t, waitForDatabase(t.Context(), storetest.Empty(t), "DATABASE_URL", 0, zerolog.Nop()))
}
