package migrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
)

// The flag as a killed process leaves it, against what its transaction had come to.
func TestInterruptedMigrationIsSettled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		until   int    // what is applied before
		flag    string // what the process left
		applied int    // by the next Up
		known   string
	}{
		{"up, committed", 2, "UPDATE rowrun.schema_migrations SET version = 2, dirty = true", 1, "forward"},
		{"up, not committed", 1, "UPDATE rowrun.schema_migrations SET version = 2, dirty = true", 2, "back"},
		{"first up, not committed", 0, "INSERT INTO rowrun.schema_migrations VALUES (1, true)", 3, "back to nothing"},
		{"down, not committed", 3, "UPDATE rowrun.schema_migrations SET version = 2, dirty = true", 0, "back"},
		{"down, committed", 2, "UPDATE rowrun.schema_migrations SET version = 2, dirty = true", 1, "forward"},
		{"last down, committed", 0, "INSERT INTO rowrun.schema_migrations VALUES (-1, true)", 3, "forward to nothing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url, conn := fresh(t)
			log := &buffer{}
			config := migrations.Config{URL: url, FS: small(), Log: logTo(log)}
			// With nothing to apply it still makes the table.
			_, err := migrations.UpTo(t.Context(), config, max(test.until, 1))
			require.NoError(t, err)
			if test.until == 0 {
				_, err = migrations.Down(t.Context(), config, 1)
				require.NoError(t, err)
			}
			run(t, conn, test.flag)
			status, err := migrations.ReadStatus(t.Context(), config)
			require.NoError(t, err)
			require.True(t, status.Dirty)
			require.False(t, status.Current())

			applied, err := migrations.Up(t.Context(), config)
			require.NoError(t, err, test.known)
			require.Equal(t, test.applied, applied)
			require.True(t, log.has("settled an interrupted migration"))
			requireVersion(t, config, 3)
		})
	}
}

func TestDownSettlesFirst(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	config := migrations.Config{URL: url, FS: small()}
	_, err := migrations.UpTo(t.Context(), config, 2)
	require.NoError(t, err)
	run(t, conn, "UPDATE rowrun.schema_migrations SET version = 3, dirty = true")
	undone, err := migrations.Down(t.Context(), config, 1)
	require.NoError(t, err)
	require.Equal(t, 1, undone)
	requireVersion(t, config, 1)
}

func TestForceBringsBothBooksInLine(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	config := migrations.Config{URL: url, FS: small()}
	require.NoError(t, migrations.Force(t.Context(), config, 0))
	_, err := migrations.Up(t.Context(), config)
	require.NoError(t, err)

	run(t, conn, "ALTER TABLE rowrun.b DROP COLUMN c")
	require.NoError(t, migrations.Force(t.Context(), config, 2))
	requireVersion(t, config, 2)
	applied, err := migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, 1, applied)

	run(t, conn, "DELETE FROM rowrun.migration WHERE version = 2")
	require.NoError(t, migrations.Force(t.Context(), config, 3))
	requireVersion(t, config, 3)
}

// A failed file is rolled back as a whole, named without its text, and leaves no flag.
func TestFailedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	files := withFile(small(), "tables/0003_c.up.sql", text("CREATE TABLE rowrun.secret ();\nSELECT * FROM rowrun.nowhere;\n"))
	config := migrations.Config{URL: url, FS: files}
	applied, err := migrations.Up(t.Context(), config)
	require.EqualError(t, err, `migrate up: migration 3 (c): line 2: relation "rowrun.nowhere" does not exist (SQLSTATE 42P01)`)
	require.Equal(t, 2, applied)
	requireVersion(t, config, 2)
	require.False(t, ask[bool](t, conn, "SELECT to_regclass('rowrun.secret') IS NOT NULL"))

	config.FS = small()
	applied, err = migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, 1, applied)
}
