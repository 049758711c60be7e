package migrations_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

// hostile are defaults that a database may have.
const hostile = `DO $$
DECLARE
    setting text;
BEGIN
    FOREACH setting IN ARRAY ARRAY['standard_conforming_strings = off', 'escape_string_warning = off', 'transform_null_equals = on', 'array_nulls = off',
        'quote_all_identifiers = on', 'DateStyle = German', 'IntervalStyle = sql_standard', 'TimeZone = "Asia/Kathmandu"', 'extra_float_digits = -15',
        'bytea_output = escape', 'default_transaction_isolation = serializable', 'search_path = public'] LOOP
        EXECUTE format('ALTER DATABASE %I SET %s', current_database(), setting);
    END LOOP;
END $$`

// The schema is the same whatever the database's defaults are, by Up and by hand, and reads the same under them.
func TestTheSchemaIsTheSameUnderAnyDefaults(t *testing.T) {
	t.Parallel()
	const recorded = `SELECT array_agg(kind || ' ' || name || ' ' || hash ORDER BY kind COLLATE "C", name COLLATE "C") FROM rowrun.schema_object`
	const checks = `SELECT array_agg(conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) ORDER BY conrelid::regclass::text COLLATE "C", conname COLLATE "C")
FROM pg_constraint WHERE connamespace = 'rowrun'::regnamespace`
	plain := storetest.New(t)
	want := connect(t, plain)
	run(t, want, hostile) // after the migration
	require.Empty(t, drift(t, migrations.Config{URL: plain}).Differences)

	url, conn := fresh(t)
	config := migrations.Config{URL: url}
	run(t, conn, hostile)
	_, err := migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Empty(t, drift(t, config).Differences)
	require.Equal(t, ask[[]string](t, want, checks), ask[[]string](t, conn, checks))
	require.Equal(t, ask[[]string](t, want, recorded), ask[[]string](t, conn, recorded))

	url, conn = fresh(t)
	run(t, conn, hostile)
	text, err := migrations.SQL(0)
	require.NoError(t, err)
	settings := strings.Index(text, "CREATE SCHEMA")
	hand := connect(t, url)
	for _, part := range []string{text[:settings], text[settings:]} { // psql sends each statement by itself
		_, err = hand.PgConn().Exec(t.Context(), part).ReadAll()
		require.NoError(t, err)
	}
	require.Equal(t, ask[[]string](t, want, checks), ask[[]string](t, conn, checks))
}
