package migrations_test

import (
	"maps"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

func fresh(t *testing.T) (string, *pgx.Conn) {
	t.Helper()
	url := storetest.Empty(t)
	return url, connect(t, url)
}

func logTo(b *buffer) zerolog.Logger { return zerolog.New(b) }

func requireVersion(t *testing.T, config migrations.Config, version int) {
	t.Helper()
	status, err := migrations.ReadStatus(t.Context(), config)
	require.NoError(t, err)
	require.False(t, status.Dirty)
	require.Equal(t, version, status.Version)
	require.Len(t, status.Applied, version)
}

func TestUpDownUp(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	config := migrations.Config{URL: url}
	latest := migrations.Version()
	requireVersion(t, config, 0)

	applied, err := migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, latest, applied)
	requireVersion(t, config, latest)
	first := objects(t, conn)
	require.NotEmpty(t, first)

	undone, err := migrations.Down(t.Context(), config, 1)
	require.NoError(t, err)
	require.Equal(t, 1, undone)
	requireVersion(t, config, latest-1)
	undone, err = migrations.Down(t.Context(), config, 1000)
	require.NoError(t, err)
	require.Equal(t, latest-1, undone)
	requireVersion(t, config, 0)
	require.Empty(t, objects(t, conn))

	applied, err = migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, latest, applied)
	require.Equal(t, first, objects(t, conn))
	applied, err = migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Zero(t, applied)
}

// Each step down leaves what the steps up to there had made.
func TestEachDownUndoesItsUp(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	config := migrations.Config{URL: url}
	_, err := migrations.UpTo(t.Context(), config, 1)
	require.NoError(t, err)
	for version := 2; version <= migrations.Version(); version++ {
		before := objects(t, conn)
		applied, err := migrations.UpTo(t.Context(), config, version)
		require.NoError(t, err)
		require.Equal(t, 1, applied)
		after := objects(t, conn)
		undone, err := migrations.Down(t.Context(), config, 1)
		require.NoError(t, err)
		require.Equal(t, 1, undone)
		require.Equal(t, before, objects(t, conn), "down of %d", version)
		_, err = migrations.UpTo(t.Context(), config, version)
		require.NoError(t, err)
		require.Equal(t, after, objects(t, conn), "up again of %d", version)
	}
}

func TestStepsAreChecked(t *testing.T) {
	t.Parallel()
	url, _ := fresh(t)
	config := migrations.Config{URL: url, FS: small()}
	_, err := migrations.UpTo(t.Context(), config, 7)
	require.ErrorContains(t, err, "there is no migration 7; the newest is 3")
	require.ErrorContains(t, migrations.Force(t.Context(), config, 7), "there is no migration 7")
	_, err = migrations.Down(t.Context(), config, 0)
	require.ErrorContains(t, err, "at least 1")
	requireVersion(t, config, 0)
}

func TestNewerSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	_, err := migrations.Up(t.Context(), migrations.Config{URL: url, FS: small()})
	require.NoError(t, err)
	before := objects(t, conn)

	old := small()
	delete(old, "tables/0003_c.up.sql")
	delete(old, "tables/0003_c.down.sql")
	config := migrations.Config{URL: url, FS: old}
	applied, err := migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Zero(t, applied)
	_, err = migrations.Down(t.Context(), config, 1)
	require.ErrorIs(t, err, migrations.ErrNewer)
	requireVersion(t, config, 3)
	require.Equal(t, before, objects(t, conn))
}

func withFile(files fstest.MapFS, name string, file *fstest.MapFile) fstest.MapFS {
	files = maps.Clone(files)
	files[name] = file
	return files
}
