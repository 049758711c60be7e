package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A limit on what a replica doesn't take leaves its claims the plain ones. One that is made on what it takes holds from the next claim on,
// and one that is deleted is forgotten by the next survey.
func TestALimitOnOthersLeavesClaimsAlone(t *testing.T) {
	t.Parallel()
	conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, queue, max_running) VALUES ('type', 'OTHER', NULL, 0), ('queue', 'NOOP', 'elsewhere', 0)`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 30)`, task)
	exec(t, conn, `ALTER FUNCTION rowrun.claim_available RENAME TO away`) // which claims call that ask limits
	first := work(t, s, 1).Claims
	require.Len(t, first, 1)
	require.Len(t, work(t, s, 10).Claims, 10)

	exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('one', 'NOOP', 12)`)
	require.Empty(t, work(t, s, 10).Claims, "it is asked, and can't be")
	exec(t, conn, `ALTER FUNCTION rowrun.away RENAME TO claim_available`)
	require.Len(t, work(t, s, 10).Claims, 1, "eleven are RUNNING")
	endClaims(t, s, first)
	require.Len(t, append(work(t, s, 10).Claims, work(t, s, 10).Claims...), 1, "the pass of the first opens one for the second")

	exec(t, conn, `SELECT rowrun.delete_limit('one')`)
	_, err := s.Survey(t.Context(), "r", noop())
	require.NoError(t, err)
	work(t, s, 1) // its pass opens what the limit held back
	exec(t, conn, `ALTER FUNCTION rowrun.claim_available RENAME TO away`)
	require.NotEmpty(t, work(t, s, 1).Claims)
	require.Len(t, work(t, s, 10).Claims, 10)
}
