package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// The creator of a run that somebody asks for is the role that asks, whichever way: of a retry too, which a function makes with its owner's
// rights, and for a session that has set another role than the one it signed in with, as poolers and the dashboard do.
func TestTheCreatorIsTheRoleThatAsks(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client := connect(t, url), inRole(t, url, "rowrun_client")
	signedIn := query[string](t, owner, `SELECT session_user::text`)
	creator := func(id int64) string {
		t.Helper()
		return query[string](t, owner, `SELECT creator FROM rowrun.task_run WHERE id = $1`, id)
	}
	task := query[int64](t, client, `SELECT rowrun.define_task('t', 'NOOP')`)
	plan := query[int64](t, client, `SELECT rowrun.create_plan('p', '[{"name": "a", "type": "NOOP"}]')`)
	first := query[int64](t, client, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	ofPlan := query[int64](t, client, `SELECT rowrun.run_plan($1)`, plan)
	require.Equal(t, "rowrun_client rowrun_client", creator(first)+" "+creator(ofPlan))

	exec(t, client, `SELECT rowrun.cancel_run($1)`, first)
	exec(t, client, `SELECT rowrun.cancel_plan($1)`, plan)
	second := query[int64](t, client, `SELECT rowrun.retry_run($1)`, first)
	require.Equal(t, "rowrun_client", creator(second))
	require.Equal(t, "rowrun_client", creator(query[int64](t, client, `SELECT rowrun.retry_plan($1)`, plan)))

	// A role that is set for a transaction, as the dashboard sets it, and none.
	exec(t, owner, `SELECT rowrun.cancel_run($1)`, second)
	tx, err := owner.Begin(t.Context())
	require.NoError(t, err)
	exec(t, owner, `SET LOCAL ROLE rowrun_operator`)
	third := query[int64](t, owner, `SELECT rowrun.retry_run($1)`, second)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, "rowrun_operator", creator(third))
	exec(t, owner, `SELECT rowrun.cancel_run($1)`, third)
	require.Equal(t, signedIn, creator(query[int64](t, owner, `SELECT rowrun.retry_run($1)`, third)))

	// What a function of somebody's inserts with its owner's rights is the owner's; a retry in it is the role's that called the function.
	exec(t, owner, `CREATE FUNCTION public.runs(task bigint) RETURNS bigint LANGUAGE sql SECURITY DEFINER RETURN rowrun.run_task(task)`)
	exec(t, owner, `CREATE FUNCTION public.retries(run bigint) RETURNS bigint LANGUAGE sql SECURITY DEFINER RETURN rowrun.retry_run(run)`)
	theirs := query[int64](t, client, `SELECT public.runs($1)`, task)
	require.Equal(t, signedIn, creator(theirs))
	exec(t, client, `SELECT rowrun.cancel_run($1)`, theirs)
	require.Equal(t, "rowrun_client", creator(query[int64](t, client, `SELECT public.retries($1)`, theirs)))
}
