package commands

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// Who may not write a SQL task is told by whom the right is given: the server's hint says it.
func TestARefusalForLackOfRightsIsShownWithItsHint(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	role := "client_of_" + conn.Config().Database
	rowruntest.Change(t, conn, "CREATE ROLE "+pgx.Identifier{role}.Sanitize()+" LOGIN IN ROLE rowrun_client")
	t.Cleanup(func() { dropRole(t, url, role) })
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": strings.Replace(url, "postgres@", role+"@", 1)}, "task", "define", "x", "--sql", "SELECT 1")
	require.Equal(t, cli.ExitFailed, got.Code, got.Stderr)
	require.Contains(t, got.Stderr, "the role may not do this: ")
	require.Contains(t, got.Stderr, "(SQLSTATE 42501)")
	require.Contains(t, got.Stderr, "hint: GRANT rowrun_author TO ")
}

// Every refusal of ours has an SQLSTATE and a hint.
func TestEachRefusalHasAHint(t *testing.T) {
	t.Parallel()
	conn := rowruntest.Connect(t, storetest.New(t))
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (name, type) VALUES ('one', 'NOOP'); INSERT INTO rowrun.webhook (url) VALUES ('https://hooks.example/')`)
	for _, table := range []string{"task", "webhook"} {
		_, err := conn.Exec(t.Context(), "UPDATE rowrun."+table+" SET id = id + 1")
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "RR003", refused.Code)
		require.Equal(t, table+" 1 keeps its id", refused.Message)
		require.Contains(t, refused.Hint, "Leave id out of the UPDATE")
	}
	const raised = `SELECT p.proname || ': ' || split_part(x.part, E';\n', 1) FROM pg_proc p, regexp_split_to_table(p.prosrc, 'RAISE EXCEPTION') WITH ORDINALITY x(part, n)
		WHERE p.pronamespace = 'rowrun'::regnamespace AND n > 1 AND split_part(x.part, E';\n', 1) ~ '''RR[0-9A-Z]{3}'''`
	rows, err := conn.Query(t.Context(), raised)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(all), 20)
	for _, one := range all {
		require.Contains(t, one, "HINT", "docs/errors.md promises one")
	}
}
