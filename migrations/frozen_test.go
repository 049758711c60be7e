package migrations_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestAppliedStepsAreFrozen(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	_, err := migrations.UpTo(t.Context(), migrations.Config{URL: url, FS: small()}, 2)
	require.NoError(t, err)
	before := objects(t, conn)
	config := migrations.Config{URL: url, FS: withFile(small(), "tables/0002_b.up.sql", text("CREATE TABLE rowrun.b (forgotten int);"))}
	const refusal = "tables/0002_b.up.sql has another text than what this database was made with: applied table steps are frozen; " +
		"put the file back as it was and write the change as a next step"
	_, err = migrations.Up(t.Context(), config)
	require.ErrorContains(t, err, refusal)
	_, err = migrations.Down(t.Context(), config, 1)
	require.ErrorContains(t, err, refusal)
	require.Equal(t, before, objects(t, conn))
	requireVersion(t, migrations.Config{URL: url, FS: small()}, 2)

	// A step that isn't applied yet may be changed, and a person who has brought the tables in line says so.
	config.FS = withFile(small(), "tables/0003_c.up.sql", text("ALTER TABLE rowrun.b ADD COLUMN c bigint;"))
	applied, err := migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, 1, applied)
	_, err = migrations.Up(t.Context(), migrations.Config{URL: url, FS: small()})
	require.ErrorContains(t, err, "tables/0003_c.up.sql has another text")
	run(t, conn, "ALTER TABLE rowrun.b ALTER COLUMN c TYPE int")
	require.NoError(t, migrations.Force(t.Context(), migrations.Config{URL: url, FS: small()}, 3))
	_, err = migrations.Up(t.Context(), migrations.Config{URL: url, FS: small()})
	require.NoError(t, err)
}

// Doctor's question: which steps, and which objects, are another text than this program's?
func TestDriftNamesStepsAndSourcesThatDiffer(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, config := connect(t, url), migrations.Config{URL: url}
	found := drift(t, config)
	require.Empty(t, found.Steps)
	require.Empty(t, found.Code)
	run(t, conn, `UPDATE rowrun.code_object SET hash = 'another' WHERE object = 'view rowrun.job';
		INSERT INTO rowrun.code_object (object, hash, position) VALUES ('function rowrun.other()', 'x', 1000);
		INSERT INTO rowrun.code_object (object, hash, position, retired_in) VALUES ('function rowrun.gone()', 'x', 1001, 1);
		UPDATE rowrun.migration SET checksum = 'another' WHERE version = 1`)
	found = drift(t, config)
	require.Equal(t, []string{"tables/0001_baseline.up.sql"}, found.Steps)
	require.Equal(t, []string{"view rowrun.job", "function rowrun.other()"}, found.Code)
	require.Empty(t, found.Differences, "the objects themselves are as they were")
}

// The numbering of before the first release went to 14, and had no checksums.
func TestSchemaOfTheOldNumberingIsRefused(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2", "14"} {
		url, conn := fresh(t)
		run(t, conn, `CREATE SCHEMA rowrun; CREATE TABLE rowrun.schema_migrations (version bigint PRIMARY KEY, dirty boolean NOT NULL);
			CREATE TABLE rowrun.migration (version bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
			INSERT INTO rowrun.schema_migrations VALUES (`+version+`, false); INSERT INTO rowrun.migration SELECT generate_series(1, `+version+`)`)
		before := objects(t, conn)
		config := migrations.Config{URL: url}
		_, err := migrations.Up(t.Context(), config)
		require.ErrorIs(t, err, migrations.ErrOldNumbering)
		require.True(t, strings.HasPrefix(err.Error(), "migrate up: schema rowrun is of before the first release"))
		require.ErrorContains(t, err, "make a new one, in another database or after DROP SCHEMA rowrun CASCADE")
		_, err = migrations.Down(t.Context(), config, 1)
		require.ErrorIs(t, err, migrations.ErrOldNumbering)
		require.ErrorIs(t, migrations.Force(t.Context(), config, 1), migrations.ErrOldNumbering)
		require.ErrorIs(t, migrations.Grants(t.Context(), config), migrations.ErrOldNumbering)
		_, err = migrations.Repair(t.Context(), config)
		require.ErrorIs(t, err, migrations.ErrOldNumbering)
		_, err = migrations.ReadStatus(t.Context(), config)
		require.ErrorIs(t, err, migrations.ErrOldNumbering)
		require.Equal(t, before, objects(t, conn))

		// What it says to do, with the publication that DROP SCHEMA leaves behind.
		run(t, conn, `CREATE PUBLICATION rowrun_stream FOR TABLE rowrun.migration; DROP SCHEMA rowrun CASCADE`)
		_, err = migrations.Up(t.Context(), config)
		require.NoError(t, err)
		require.Empty(t, drift(t, config).Differences)
	}
}
