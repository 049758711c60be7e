package commands

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
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
	require.ErrorContains(t, connect.CheckSchema(t.Context(), openStore(t, url)), "run `rowrun migrate up`")

	got := rowrun(t.Context(), t, variables, "migrate", "up")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Equal(t, latest+" migrations applied; the schema is at version "+latest+" of "+latest+"\n", got.Stdout)
	require.NoError(t, connect.CheckSchema(t.Context(), openStore(t, url)))

	got = rowrun(t.Context(), t, variables, "migrate", "grants")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)

	got = rowrun(t.Context(), t, variables, "migrate", "down", "1")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "1 migrations taken back; the schema is at version ")
	require.ErrorContains(t, connect.CheckSchema(t.Context(), openStore(t, url)), "this program needs "+latest)

	got = rowrun(t.Context(), t, variables, "migrate", "status", "-o", "json")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	var status struct {
		Version, Latest int
		Current         bool
		Applied         []struct{ Version int }
		Code            struct {
			Hash      string
			KnownHash string `json:"known_hash"`
			Current   bool
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &status))
	require.Equal(t, migrations.Version(), status.Latest)
	require.Less(t, status.Version, status.Latest)
	require.False(t, status.Current)
	require.NotEmpty(t, status.Applied)
	require.Empty(t, status.Code.Hash, "it goes with the first step")
	require.Equal(t, migrations.OwnCode().Hash, status.Code.KnownHash)
	require.False(t, status.Code.Current)
	require.Contains(t, got.Stderr, "without code: run `rowrun migrate up`")

	got = rowrun(t.Context(), t, variables, "migrate", "force", latest)
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "version "+latest+" written down")
	require.ErrorContains(t, connect.CheckSchema(t.Context(), openStore(t, url)), "the schema has tables but no functions")
}

// Another build's code, an older and a newer release's, and what each has serve and migrate status say.
func TestCodeOfAnotherProgramIsTold(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, opened, own := rowruntest.Connect(t, url), openStore(t, url), migrations.OwnCode()
	status := func() rowruntest.Outcome {
		got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "migrate", "status")
		require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
		return got
	}
	got := status()
	require.Contains(t, got.Stdout, own.Hash+" (release "+strconv.Itoa(own.Release)+")")
	require.Contains(t, got.Stderr, "its code is this program's: up to date")

	rowruntest.Change(t, conn, `UPDATE rowrun.code_version SET hash = 'another'`)
	require.Contains(t, status().Stderr, "its code is another than this program's "+own.Hash)
	require.NoError(t, connect.CheckSchema(t.Context(), opened))
	var log strings.Builder
	connect.WarnOfCode(t.Context(), opened, zerolog.New(&log))
	require.Contains(t, log.String(), "another build's than this program's")

	rowruntest.Change(t, conn, `UPDATE rowrun.code_version SET release = 0`)
	require.ErrorContains(t, connect.CheckSchema(t.Context(), opened), "the schema has tables but no functions")
	rowruntest.Change(t, conn, `UPDATE rowrun.code_version SET release = -1`) // before release 1 there is none that is older
	require.ErrorContains(t, connect.CheckSchema(t.Context(), opened), "the schema's code is of release -1 and this program needs "+strconv.Itoa(own.Release))

	rowruntest.Change(t, conn, `UPDATE rowrun.code_version SET release = 9999`)
	require.NoError(t, connect.CheckSchema(t.Context(), opened), "running replicas of the release before go on")
	require.Contains(t, status().Stderr, "up to date")
	log.Reset()
	connect.WarnOfCode(t.Context(), opened, zerolog.New(&log))
	require.Empty(t, log.String())
}

func TestSchemaOfTheOldNumberingIsRefusedByAll(t *testing.T) {
	t.Parallel()
	url := storetest.Empty(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `CREATE SCHEMA rowrun`)
	rowruntest.Change(t, conn, `CREATE TABLE rowrun.migration AS SELECT v AS version, now() AS applied_at FROM generate_series(1, 14) v`)
	for _, args := range [][]string{{"serve"}, {"migrate", "up"}, {"migrate", "status"}, {"run", "list"}, {"doctor"}, {"status"}} {
		got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, args...)
		require.Equal(t, cli.ExitFailed, got.Code, "%v: %s", args, got.Stderr)
		require.Contains(t, got.Stdout+got.Stderr, "schema rowrun is of before the first release", "%v", args)
	}
}

func TestMigrateSQLAsksNoDatabase(t *testing.T) {
	t.Parallel()
	got := rowrun(t.Context(), t, nil, "migrate", "sql")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "CREATE TABLE rowrun.task_run")
	require.Contains(t, got.Stdout, "CREATE OR REPLACE FUNCTION rowrun.cancel_run(")
	got = rowrun(t.Context(), t, nil, "migrate", "sql", "--from", strconv.Itoa(migrations.Version()))
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.NotContains(t, got.Stdout, "CREATE TABLE rowrun.task_run ")
	require.Contains(t, got.Stdout, "CREATE OR REPLACE FUNCTION rowrun.cancel_run(")
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
	require.NoError(t, connect.Wait(t.Context(), storetest.Empty(t), "DATABASE_URL", 0, zerolog.Nop()))
}
