package commands

import (
	"bufio"
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
)

// atTerminal runs one command line with standard output, and standard error behind the program's own writer, on a terminal.
func atTerminal(ctx context.Context, terminal *os.File, variables map[string]string, args ...string) int {
	return run(ctx, args, cli.Environment{
		Stdin: strings.NewReader(""), Stdout: terminal, Stderr: cli.NewUnhurried(terminal), Lookup: rowruntest.LookupIn(variables),
	})
}

func TestStatusIsOneScreen(t *testing.T) {
	t.Parallel()
	now := situation{
		Problems: []string{"replica web-2 is silent for too long", "1 failed for good in the last 24 hours: `rowrun run list --failed`"},
		Longest:  goldenRuns()[1:2], Failed: goldenRuns()[:1], now: goldenNow(), Sampled: 100,
		Waiting: []waitingFor{
			{"DATABASE_BUSY", 81, 10044, "waits for run 10040 (每日销售报表), which is alone on orders"},
			{"NO_REPLICA", 19, 10039, "no live replica runs the type com.example.reports.monthly.v2 of queue reports"},
		},
	}
	status := store.Status{Pending: 120, Available: 1, Running: 7, FailedLastDay: 1, Replicas: goldenReplicas()}
	for _, well := range []bool{false, true} {
		name := "status"
		if well {
			now, name = situation{now: goldenNow()}, "status-well"
		}
		for _, columns := range []uint16{80, 120, 200} {
			for kind, variables := range map[string]map[string]string{"xterm": {"TERM": "xterm"}, "dumb": {"TERM": "dumb"}} {
				text := captured(t, columns, func(terminal *os.File) {
					out := cli.Output{Format: "table", Lookup: rowruntest.LookupIn(variables)}
					require.NoError(t, writeDeployment(terminal, &out, 2, status, now))
				})
				if !well {
					fits(t, int(columns), text)
				}
				// One step of the tables more is no other screen.
				text = strings.Replace(text, "version 2 of "+strconv.Itoa(migrations.Version()), "version 2 of 4", 1)
				golden(t, name+"-"+map[uint16]string{80: "80", 120: "120", 200: "200"}[columns]+"-"+kind, text)
			}
		}
	}
}

func TestStatusTellsWhatRunsWaitsAndFailed(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	aPlan(t, conn)
	s.does("plan", "run", "1")
	end(t, conn, 1, "FAILED")
	s.does("task", "define", "nobody", "--type", "MINE")
	s.does("run", "create", "nobody")
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE task_id = 3")
	rowruntest.Change(t, conn, "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'hand' WHERE task_id = 3")
	text, _ := s.does("status")
	require.Regexp(t, `(?s)^no replica lives.*\n1 failed for good.*\nschema  version.*\nRUNNING +TASK.*\n3 +c +.*\nWAITING FOR +RUNS +SUCH AS +WHY\n.*DEPENDENCY +1 +run 2 .*\nFAILED +TASK.*\n1 +a `, text)
	document, _ := s.does("status", "-o", "json")
	require.Contains(t, document, `"cause": "DEPENDENCY"`)
	require.Contains(t, document, `"problems": [`)
}

// What watches goes on until it is asked to end, which is no failure.
func TestWatchShowsAgainUntilItIsEnded(t *testing.T) {
	t.Parallel()
	s, _ := newShell(t)
	pty, terminal := openTerminal(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	variables := map[string]string{"DATABASE_URL": s.variables["DATABASE_URL"], "TERM": "xterm"}
	go func() { ended <- atTerminal(ctx, terminal, variables, "run", "list", "--watch=200ms") }()
	read := bufio.NewReader(pty)
	for seen := 0; seen < 3; {
		line, err := read.ReadString('\n')
		require.NoError(t, err)
		if strings.Contains(line, "no run") {
			seen++
		}
		if seen == 1 {
			require.NotContains(t, line, "\x1b[2J")
		}
	}
	stop()
	go func() { _, _ = io.Copy(io.Discard, read) }()
	require.Equal(t, cli.ExitDone, <-ended)
	s.fails(cli.ExitUsage, "accepted: a duration of at least 200ms", "run", "list", "--watch=1ms")
}

func TestWaitShowsProgressOnATerminalOnly(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	aPlan(t, rowruntest.Connect(t, url))
	s.does("plan", "run", "1")
	for kind, want := range map[string]bool{"xterm": true, "dumb": false} {
		text := captured(t, 60, func(terminal *os.File) {
			code := atTerminal(t.Context(), terminal, map[string]string{"DATABASE_URL": url, "TERM": kind}, "plan", "wait", "1", "--timeout", "1200ms")
			require.Equal(t, cli.ExitFailed, code)
		})
		require.Equal(t, want, strings.Contains(text, "░░░   0 %  plan 1: 3 PENDING"), "%q", text)
		require.Equal(t, want, strings.Contains(text, "\r"), "%q", text)
		require.Contains(t, text, "the time to wait is over")
	}
	got := rowrun(t.Context(), t, s.variables, "plan", "wait", "1", "--timeout", "50ms")
	require.NotContains(t, got.Stderr, "░")
}

func TestStreamIsTextAtATerminal(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	s.does("task", "define", "hello", "--type", "MINE")
	s.does("run", "create", "hello", "--at", "1h")
	show := func(args ...string) string {
		return captured(t, 120, func(terminal *os.File) {
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			args = append([]string{"stream", "--since", "1h", "--until-idle"}, args...)
			require.Equal(t, cli.ExitDone, atTerminal(ctx, terminal, map[string]string{"DATABASE_URL": url, "TERM": "xterm"}, args...))
		})
	}
	require.Regexp(t, `run 1 +.*PENDING`, show())
	require.Contains(t, show("--format", "json"), `"to":"PENDING"`)
}

func TestProgressKeepsToItsLine(t *testing.T) {
	t.Parallel()
	text := captured(t, 40, func(terminal *os.File) {
		p := cli.NewProgress(terminal, rowruntest.LookupIn(map[string]string{"TERM": "xterm"}))
		p.Show(0.5, "每日销售报表：重新计算所有门店的库存与营业额")
		p.Clear()
	})
	for piece := range strings.SplitSeq(text, "\r") {
		fits(t, 39, piece)
	}
	require.Contains(t, text, "██████░░░░░░  50 %")
	require.True(t, strings.HasSuffix(text, "\r\x1b[K"), "%q", text)
}
