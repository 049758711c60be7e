package commands

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestShellsAreGivenAScript(t *testing.T) {
	t.Parallel()
	for shell, says := range map[string]string{"bash": "__start_rowrun", "zsh": "#compdef rowrun", "fish": "complete -c rowrun"} {
		got := rowrun(t.Context(), t, nil, "completion", shell)
		require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
		require.Contains(t, got.Stdout, says)
		if path, err := exec.LookPath(shell); err == nil {
			check := exec.CommandContext(t.Context(), path, "-n")
			check.Stdin = strings.NewReader(got.Stdout)
			out, err := check.CombinedOutput()
			require.NoError(t, err, "%s: %s", shell, out)
		}
	}
	got := rowrun(t.Context(), t, nil, "completion", "tcsh")
	require.Equal(t, cli.ExitUsage, got.Code)
}

func TestCompletionOffersNamesAndIds(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	aPlan(t, conn)
	rowruntest.Change(t, conn, "INSERT INTO rowrun.webhook (name, url) VALUES ('ops', 'https://example.com')")
	s.does("task", "define", "hello", "--type", "NOOP", "--queue", "slow", "--schedule", "@daily")
	s.does("task", "define", "evil\x1b[2J\tname", "--type", "MINE")
	s.does("plan", "run", "1")
	offers := func(args ...string) []string {
		t.Helper()
		out, said := s.does(append([]string{"__complete"}, args...)...)
		require.NotContains(t, out, "\x1b")
		require.NotContains(t, said, "rror")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return lines[:len(lines)-1] // the last is the directive
	}
	require.Equal(t, []string{"roll out\tPENDING", "1\troll out PENDING"}, offers("plan", "show", ""))
	require.Equal(t, []string{"roll out\tPENDING"}, offers("run", "list", "--plan", "roll"))
	require.Equal(t, []string{"hello\tNOOP PENDING"}, offers("run", "create", "he"))
	require.Contains(t, offers("schedule", "pause", ""), "hello\t@daily")
	require.Regexp(t, `^4\tc PENDING (now|\d+ s ago)$`, offers("run", "cancel", "")[0])
	require.Empty(t, offers("run", "retry", ""))
	require.Equal(t, []string{"ops\tof project default", "1\tops of project default"}, offers("webhook", "test", ""))
	require.Contains(t, offers("run", "list", "--type", ""), "DATABASE_MIGRATE")
	require.Equal(t, []string{"MINE"}, offers("type", "drain", "M"))
	require.Equal(t, []string{"slow"}, offers("run", "list", "--queue", "s"))
	require.Contains(t, offers("plan", "list", "--status", "DONE,"), "DONE,FAILED")
	require.Contains(t, offers("run", "list", "-o", ""), "yaml")
	require.Contains(t, offers("bench", "dr"), "drain")
	require.Contains(t, strings.Join(offers("plan", ""), " "), "apply")
}

// A database that doesn't answer must not hold up who types, nor write into the line.
func TestCompletionWithoutADatabaseIsSilent(t *testing.T) {
	t.Parallel()
	for _, variables := range []map[string]string{
		nil,
		{"DATABASE_URL": "no url"},
		{"DATABASE_URL": storetest.RefusingServer(t, "127.0.0.1:0", "57P03")},
		{"DATABASE_URL": "postgres://127.0.0.1:1/none"},
	} {
		begun := time.Now()
		got := rowrun(t.Context(), t, variables, "__complete", "plan", "show", "")
		require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
		require.Equal(t, ":4\n", got.Stdout)
		require.Less(t, time.Since(begun), 10*time.Second)
	}
}
