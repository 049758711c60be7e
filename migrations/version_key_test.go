package migrations_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

// An INSERT that is under way has looked up in which language version_key is written. Its text is not replaced by one in another
// language before the INSERT has computed the stored column.
func TestNoInsertMeetsVersionKeyOfAnotherLanguage(t *testing.T) {
	t.Parallel()
	storetest.New(t) // a dump has no roles: this makes them, on the server that is shared
	dump, err := os.ReadFile("testdata/schema-v0.1.0.sql")
	require.NoError(t, err)
	url, conn := fresh(t)
	_, err = conn.PgConn().Exec(t.Context(), string(dump)).ReadAll()
	require.NoError(t, err)
	const step = 25
	log := &buffer{}
	config := migrations.Config{URL: url, Log: logTo(log)}
	_, err = migrations.UpTo(t.Context(), config, step-1)
	require.NoError(t, err)

	gate, writer, watch := connect(t, url), connect(t, url), connect(t, url)
	run(t, gate, "SELECT pg_advisory_lock(25)")
	inserted := start(t, 1, func() error {
		_, err := writer.Exec(t.Context(), `INSERT INTO rowrun.task (name, type, database_id, version)
			SELECT 'late', 'NOOP', 'orders', '1.10' FROM (SELECT pg_advisory_lock_shared(25)) until`)
		return err
	})
	eventually(t, "the INSERT has begun", func() bool {
		return ask[bool](t, watch, `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 25 AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`)
	})
	migrated := start(t, 1, func() error {
		_, err := migrations.Up(t.Context(), config)
		return err
	})
	eventually(t, "the step waits for the INSERT, or has passed it by", func() bool {
		return log.has(`"sqlstate":"55P03"`) || ask[bool](t, watch, `SELECT EXISTS (SELECT FROM rowrun.migration WHERE version = $1)`, step)
	})
	run(t, gate, "SELECT pg_advisory_unlock(25)")
	require.Empty(t, failures(inserted()))
	require.Empty(t, failures(migrated()))
	require.Equal(t, "0110210", ask[string](t, watch, `SELECT version_key FROM rowrun.task WHERE name = 'late'`))
}
