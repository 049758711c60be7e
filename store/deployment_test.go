package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// A copy is told by the server and the database that its origin stood in, by the database alone where the role may not know the
// server.
func TestACopyIsToldByWhatMayBeKnown(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	for _, known := range []bool{true, false} {
		if !known {
			exec(t, conn, `REVOKE EXECUTE ON FUNCTION pg_control_system(), pg_control_checkpoint() FROM PUBLIC`)
		}
		for _, c := range []struct {
			stood string
			told  bool
		}{
			{`system_identifier = i.system_identifier, database_oid = i.database_oid`, false},
			{`system_identifier = 1, database_oid = i.database_oid`, known},
			{`system_identifier = i.system_identifier, database_oid = 1`, true},
			{`system_identifier = NULL, database_oid = 1`, true},
			{`system_identifier = NULL, database_oid = NULL`, false},
		} {
			exec(t, conn, `UPDATE rowrun.deployment SET `+c.stood+` FROM rowrun.server_identity() i`)
			exec(t, conn, `SET ROLE rowrun_replica`)
			require.Equal(t, c.told, query[bool](t, conn, `SELECT rowrun.deployment_elsewhere()`), "%s, the server is known: %t", c.stood, known)
			exec(t, conn, `RESET ROLE`)
		}
	}
}
