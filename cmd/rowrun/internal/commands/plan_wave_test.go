package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
)

// A wave that is named is opened if it is the next one; who asks for it again is told that it is open.
func TestRollOnOpensTheWaveThatIsNamed(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.plan (name) VALUES ('p')`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (plan_id, name, type) SELECT 1, 't' || n, 'NOOP' FROM generate_series(1, 3) n`)
	rowruntest.Change(t, conn, `SELECT rowrun.add_waves(1, '[{"name": "a", "tasks": [1]}, {"name": "b", "tasks": [2]}, {"name": "c", "tasks": [3]}]')`)
	rowruntest.Change(t, conn, `SELECT rowrun.run_plan(1)`)
	rowruntest.Change(t, conn, `SELECT rowrun.promote_runs(true)`) // opens the first

	s.fails(cli.ExitFailed, "wave 3 of plan 1 is not the next one", "plan", "wave", "roll-on", "p", "--wave", "3")
	s.fails(cli.ExitFailed, "plan 1 has no wave 9", "plan", "wave", "roll-on", "p", "--wave", "9")
	s.fails(cli.ExitUsage, "--wave: accepted: 1 and above", "plan", "wave", "roll-on", "p", "--wave", "0")
	for _, want := range []string{"is open now", "is open already"} {
		said, _ := s.does("plan", "wave", "roll-on", "p", "--wave", "2", "-o", "json")
		require.JSONEq(t, `{"plan_id": 1, "count": 2, "what": "`+want+`"}`, said)
	}
	said, _ := s.does("plan", "wave", "roll-on", "p")
	require.Equal(t, "3\n", said, "the next one, as none is named")
}
