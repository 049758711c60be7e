package commands

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// At a terminal the log is for reading; in a file it stays JSON, and what was asked for stands.
func TestLogOfCommandsIsForPeopleAtATerminal(t *testing.T) {
	t.Parallel()
	url := storetest.RefusingServer(t, "127.0.0.1:0", "57P03")
	for _, args := range [][]string{nil, {"--log-format", "json"}} {
		pty, terminal := openTerminal(t)
		code := run(t.Context(), append([]string{"status", "--connect-timeout", "1s"}, args...), cli.Environment{
			Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: terminal, Lookup: rowruntest.LookupIn(map[string]string{"DATABASE_URL": url}),
		})
		require.Equal(t, cli.ExitFailed, code)
		line, err := bufio.NewReader(pty).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "database not reachable yet")
		require.Equal(t, args != nil, strings.HasPrefix(line, "{"), line)
	}
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "status", "--connect-timeout", "1s")
	require.True(t, strings.HasPrefix(got.Stderr, "{"), got.Stderr)
}

// openTerminal is a terminal and who sits at it.
func openTerminal(t *testing.T) (pty, terminal *os.File) {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pty.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = terminal.Close() })
	return pty, terminal
}
