package commands

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
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
	require.ErrorContains(t, database.CheckSchema(t.Context(), openStore(t, url)), "run `rowrun migrate up`")

	got := rowrun(t.Context(), t, variables, "migrate", "up")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Equal(t, latest+" migrations applied; the schema is at version "+latest+" of "+latest+"\n", got.Stdout)
	require.NoError(t, database.CheckSchema(t.Context(), openStore(t, url)))

	got = rowrun(t.Context(), t, variables, "migrate", "grants")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)

	got = rowrun(t.Context(), t, variables, "migrate", "down", "1")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "1 migrations taken back; the schema is at version ")
	require.ErrorContains(t, database.CheckSchema(t.Context(), openStore(t, url)), "this program needs "+latest)

	got = rowrun(t.Context(), t, variables, "migrate", "status", "-o", "json")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	var status struct {
		Version, Latest int
		Current         bool
		Applied         []struct{ Version int }
	}
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &status))
	require.Equal(t, migrations.Version(), status.Latest)
	require.Less(t, status.Version, status.Latest)
	require.False(t, status.Current)
	require.NotEmpty(t, status.Applied)
	require.Contains(t, got.Stderr, "run `rowrun migrate up`")

	got = rowrun(t.Context(), t, variables, "migrate", "force", latest)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "version "+latest+" written down")
}

func TestMigrateSQLAsksNoDatabase(t *testing.T) {
	t.Parallel()
	got := rowrun(t.Context(), t, nil, "migrate", "sql")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "CREATE TABLE rowrun.task_run")
	got = rowrun(t.Context(), t, nil, "migrate", "sql", "--from", strconv.Itoa(migrations.Version()))
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.NotContains(t, got.Stdout, "CREATE TABLE rowrun.task_run ")
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
		got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": rowruntest.SomeURL}, args...)
		require.Equal(t, cli.ExitUsage, got.Code, "%v: %s", args, got.Stderr)
		require.Contains(t, got.Stderr, "accepted: ")
	}
	got := rowrun(t.Context(), t, nil, "migrate", "up")
	require.Equal(t, cli.ExitUsage, got.Code)
	require.Contains(t, got.Stderr, "rowrun dev")
}

func TestDatabaseThatDoesNotExistEndsTheWaiting(t *testing.T) {
	t.Parallel()
	url := storetest.Cluster(t).SocketURL("not_there")
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "migrate", "up")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "(DATABASE_URL): no such database, create it or name another")
	require.NoError(t, database.Wait(t.Context(), storetest.Empty(t), "DATABASE_URL", 0, zerolog.Nop()))
}
