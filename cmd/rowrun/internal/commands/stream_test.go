package commands

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// streamed collects the lines that a command writes to its standard output.
type streamed struct {
	mu    sync.Mutex
	lines []string
	read  int                // lines that byRun has
	byRun map[int64][]string // events of each run, in their order
}

func (s *streamed) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(string(p)) {
		s.lines = append(s.lines, strings.TrimSpace(line))
	}
	return len(p), nil
}

// events are those of one run, in their order. Each line is read once, however often this is asked.
func (s *streamed) events(t *testing.T, run int64) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byRun == nil {
		s.byRun = map[int64][]string{}
	}
	for _, text := range s.lines[s.read:] {
		var line struct {
			Event string
			RunID int64 `json:"run_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &line), text)
		s.byRun[line.RunID] = append(s.byRun[line.RunID], strings.TrimPrefix(line.Event, "task_run."))
		s.read++
	}
	return strings.Join(s.byRun[run], " ")
}

// start runs a command in this process until the test ends or stop is called.
func start(t *testing.T, url string, stdout io.Writer, args ...string) (stop func() int, logs *streamed) {
	t.Helper()
	logs = &streamed{}
	ctx, cancel := context.WithCancel(context.Background())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, args, cli.Environment{
			Stdin: strings.NewReader(""), Stdout: stdout, Stderr: logs, Lookup: rowruntest.LookupIn(map[string]string{"DATABASE_URL": url}),
		})
	}()
	stop = sync.OnceValue(func() int {
		cancel()
		return <-code
	})
	t.Cleanup(func() { stop() })
	return stop, logs
}

func (s *streamed) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.lines, "\n"), text)
}

const lifeOfARun = "pending available running done"

func TestOneReplicaStreamsAndTheOtherLogsItsOwn(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	var first, second streamed
	stopFirst, log := start(t, url, &first, "serve", "--http-addr", "off")
	rowruntest.Eventually(t, "the first writes", func() bool { return log.has("this replica writes the stream") })
	_, other := start(t, url, &second, "serve", "--http-addr", "off", "--queues", "other")
	rowruntest.Eventually(t, "the second says who writes", func() bool { return other.has("stream is written by another replica") })

	run := insertRun(t, conn, "NOOP", "{}", nil)
	rowruntest.Eventually(t, "the stream", func() bool { return first.events(t, run) == lifeOfARun })
	require.False(t, log.has("run claimed"), "who writes the stream says it there")
	require.NoError(t, conn.QueryRow(t.Context(), `WITH made AS (INSERT INTO rowrun.task (type, queue) VALUES ('NOOP', 'other') RETURNING id)
		SELECT id FROM made`).Scan(&run))
	require.NoError(t, conn.QueryRow(t.Context(), "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", run).Scan(&run))
	rowruntest.Eventually(t, "the stream of the other's run", func() bool { return first.events(t, run) == lifeOfARun })
	rowruntest.Eventually(t, "its own log", func() bool { return other.has("run claimed") && other.has("run ended") })

	// A run that ends in the drain is still printed.
	last := insertRun(t, conn, "NOOP", `{"sleep": "300ms"}`, nil)
	rowruntest.Eventually(t, "running", func() bool { return strings.HasSuffix(first.events(t, last), "running") })
	require.Equal(t, cli.ExitDone, stopFirst())
	require.Equal(t, lifeOfARun, first.events(t, last))
	rowruntest.Eventually(t, "the other takes over", func() bool { return other.has("this replica writes the stream") })
	require.NoError(t, conn.QueryRow(t.Context(), `INSERT INTO rowrun.task_run (task_id)
		SELECT id FROM rowrun.task WHERE queue = 'other' LIMIT 1 RETURNING id`).Scan(&run))
	rowruntest.Eventually(t, "the stream goes on", func() bool { return second.events(t, run) == lifeOfARun })
	require.False(t, second.has("stream.gap"), "what is handed over is no gap")
	require.Empty(t, second.events(t, last), "and isn't told again")
}

func TestServeWritesNoStreamWhereItIsOff(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	var out streamed
	_, log := start(t, url, &out, "serve", "--http-addr", "off", "--stream-source", "off")
	awaitStatus(t, rowruntest.Connect(t, url), insertRun(t, rowruntest.Connect(t, url), "NOOP", "{}", nil), "DONE")
	rowruntest.Eventually(t, "its own log", func() bool { return log.has("run ended") })
	require.Empty(t, out.lines)
}

func TestStreamShowsThePastAndEndsWhenIdle(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	var served streamed
	start(t, url, &served, "serve", "--http-addr", "off")
	conn := rowruntest.Connect(t, url)
	past := insertRun(t, conn, "NOOP", "{}", nil)
	awaitStatus(t, conn, past, "DONE")
	slow := insertRun(t, conn, "NOOP", `{"sleep": "500ms"}`, nil)

	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "stream", "--since", "10m", "--until-idle")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	var shown streamed
	_, _ = io.WriteString(&shown, got.Stdout)
	require.Equal(t, lifeOfARun, shown.events(t, past))
	require.Equal(t, lifeOfARun, shown.events(t, slow))

	got = rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "stream", "--since", "10m", "--until-idle", "--format", "text")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, "RUNNING   NOOP")
	require.NotContains(t, got.Stdout, "\x1b", "no colours where no person looks")
	got = rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "stream", "--until-idle")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Empty(t, got.Stdout)
}

// Numbers of transactions that another server gave say nothing of the rows here.
func TestAStreamFromAPlaceOfAnotherServerIsToldByTimes(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	run := insertRun(t, conn, "NOOP", "{}", nil)
	rowruntest.Change(t, conn, `SELECT rowrun.cancel_run($1)`, run)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.stream_position (second, system_id, timeline, lsn, at, snapshot) VALUES
		(date_trunc('second', now() - interval '10 minutes'), '1', 1, '0/5', now() - interval '10 minutes', '999999999:999999999:'),
		(date_trunc('second', now()), '2', 1, '0/20', now(), pg_current_snapshot())`)
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, "stream", "--from", "0/10", "--until-idle")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, `"event":"stream.gap","reason":"what came since 0/10 is told by the rows"`)
	var shown streamed
	_, _ = io.WriteString(&shown, got.Stdout)
	require.Equal(t, "pending available canceled", shown.events(t, run))
}

func TestReaderThatHasGoneEndsTheStreamCleanly(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	insertRun(t, conn, "NOOP", "{}", nil)
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = writer.Close() })
	code := make(chan int, 1)
	go func() {
		code <- run(context.Background(), []string{"stream", "--since", "1h"}, cli.Environment{
			Stdin: strings.NewReader(""), Stdout: writer, Stderr: io.Discard, Lookup: rowruntest.LookupIn(map[string]string{"DATABASE_URL": url}),
		})
	}()
	_, err = bufio.NewReader(reader).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	rowruntest.Eventually(t, "its end", func() bool {
		insertRun(t, conn, "NOOP", "{}", nil)
		select {
		case got := <-code:
			require.Equal(t, cli.ExitDone, got)
			return true
		default:
			return false
		}
	})
	_, err = writer.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.EPIPE)
}

func TestStreamRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"DATABASE_URL": storetest.Empty(t)}
	got := rowrun(t.Context(), t, variables, "stream", "--since", "-1s")
	require.Equal(t, cli.ExitUsage, got.Code)
	got = rowrun(t.Context(), t, variables, "stream", "--format", "xml")
	require.Equal(t, cli.ExitUsage, got.Code)
	require.Contains(t, got.Stderr, "accepted: json, text")
	got = rowrun(t.Context(), t, variables, "stream")
	require.Equal(t, cli.ExitFailed, got.Code)
	require.Contains(t, got.Stderr, "rowrun migrate up")
}

func TestStreamNeedsNoMoreThanToRead(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	run := insertRun(t, conn, "NOOP", "{}", nil)
	_, err := conn.Exec(t.Context(), "SELECT rowrun.cancel_run($1)", run)
	require.NoError(t, err)
	got := rowrun(t.Context(), t, nil, "stream",
		"--database-url", url+"&options=-crole%3Drowrun_viewer", "--since", "10m", "--until-idle")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	var shown streamed
	_, _ = io.WriteString(&shown, got.Stdout)
	require.Equal(t, "pending available canceled", shown.events(t, run))
}
