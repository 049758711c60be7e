package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newHistory(t *testing.T, config history.Config) *history.History {
	t.Helper()
	h, err := history.New(config)
	require.NoError(t, err)
	return h
}

func follow(t *testing.T, h *history.History, after string) (*history.Reader, bool) {
	t.Helper()
	r, found := h.Follow(after)
	t.Cleanup(r.Close)
	return r, found
}

func texts(lines []history.Line) string {
	var s []string
	for _, l := range lines {
		s = append(s, string(l.Text))
	}
	return strings.Join(s, " ")
}

func read(t *testing.T, r *history.Reader) []history.Line {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	lines, err := r.Next(ctx, 100)
	require.NoError(t, err)
	return lines
}

func TestReaderGoesOnBehindItsOwnPosition(t *testing.T) {
	t.Parallel()
	h := newHistory(t, history.Config{})
	h.Append("", []byte("before\n"))
	r, found := follow(t, h, "")
	require.True(t, found)
	for _, text := range []string{"a\n", "b\n", "c\n"} {
		h.Append("", []byte(text))
	}
	lines := read(t, r)
	require.Equal(t, "a b c", texts(lines))
	again, found := follow(t, h, lines[0].Position)
	require.True(t, found)
	require.Equal(t, "b c", texts(read(t, again)))

	last, found := follow(t, h, lines[2].Position)
	require.True(t, found)
	h.Append("", []byte("d"))
	require.Equal(t, "d", texts(read(t, last)))
}

func TestReaderBeginsWithTheTransactionOfASourcesPosition(t *testing.T) {
	t.Parallel()
	h := newHistory(t, history.Config{})
	h.Append("0/10", []byte("a"))
	h.Append("0/20", []byte("b1"))
	h.Append("0/20", []byte("b2"))
	h.Append("0/30", []byte("c"))
	r, found := follow(t, h, "0/20")
	require.True(t, found)
	lines := read(t, r)
	require.Equal(t, "b1 b2 c", texts(lines))
	require.Equal(t, "0/30", lines[2].Position)
}

func TestUnknownPositionsAreNotFoundAndWhatIsKeptIsRead(t *testing.T) {
	t.Parallel()
	h, elsewhere := newHistory(t, history.Config{Lines: 2}), newHistory(t, history.Config{})
	first, _ := follow(t, h, "")
	h.Append("", []byte("a"))
	position := read(t, first)[0].Position
	foreign, _ := follow(t, elsewhere, "")
	elsewhere.Append("", []byte("x"))
	for _, text := range []string{"b", "c", "d"} {
		h.Append("", []byte(text))
	}
	for _, unknown := range []string{position, read(t, foreign)[0].Position, "0/99", "nonsense", position + "9"} {
		r, found := follow(t, h, unknown)
		require.False(t, found, unknown)
		require.Equal(t, "c d", texts(read(t, r)), unknown)
	}
	r, _ := follow(t, h, "")
	h.Append("", []byte("e"))
	position = read(t, r)[0].Position
	h.Forget()
	_, found := follow(t, h, position)
	require.False(t, found, "what was forgotten")
}

func TestBoundsHoldAndASlowReaderIsToldAndWaitedForByNobody(t *testing.T) {
	t.Parallel()
	h := newHistory(t, history.Config{Lines: 1000, Bytes: 300})
	slow, _ := follow(t, h, "")
	for n := range 100 {
		h.Append("", fmt.Appendf(nil, "%0100d", n)) // three of them fit
	}
	_, err := slow.Next(t.Context(), 10)
	require.ErrorIs(t, err, history.ErrSlow)
	r, _ := follow(t, h, "unknown")
	require.Len(t, read(t, r), 3)
	require.Equal(t, history.Stats{Lines: 100, Slow: 1, Readers: 2}, h.Stats())
	h.Append("", []byte(strings.Repeat("x", 1000))) // one line is kept, however long
	require.Len(t, read(t, r), 1)
	r.Close()
	r.Close()
	require.Equal(t, 1, h.Stats().Readers)
}

func TestGapsAreCounted(t *testing.T) {
	t.Parallel()
	h := newHistory(t, history.Config{})
	h.Append("", []byte(`{"level":"warn","task":"\"event\":\"stream.gap\""}`))
	h.Gap("a \"reason\"")
	require.Equal(t, history.Stats{Lines: 2, Gaps: 1}, h.Stats())
	var gap struct{ Stream, Event, Reason string }
	require.NoError(t, json.Unmarshal(history.GapLine("a \"reason\""), &gap))
	require.Equal(t, "stream.gap", gap.Event)
	require.Equal(t, "a \"reason\"", gap.Reason)
}

// Many readers beside a writer: each gets every line once and in order, or is told.
func TestConcurrentReadersMissNothing(t *testing.T) {
	t.Parallel()
	h := newHistory(t, history.Config{})
	const lines = 5000
	var wg sync.WaitGroup
	errs := make(chan error, 50)
	for range 50 {
		r, _ := follow(t, h, "")
		wg.Go(func() {
			for want := 0; want < lines; {
				got, err := r.Next(t.Context(), 64)
				for _, l := range got {
					if string(l.Text) != fmt.Sprint(want) && err == nil {
						err = fmt.Errorf("got %s, want %d", l.Text, want)
					}
					want++
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for n := range lines {
		h.Append("", fmt.Append(nil, n))
	}
	wg.Wait()
	close(errs)
	require.NoError(t, <-errs)
}

func TestNextEndsWithItsContext(t *testing.T) {
	t.Parallel()
	h := newHistory(t, history.Config{})
	r, _ := follow(t, h, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Next(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	_, err = history.New(history.Config{Lines: -1})
	require.Error(t, err)
}

func TestFilterLetsThroughWhatIsWantedAndEveryGap(t *testing.T) {
	t.Parallel()
	line := []byte(`{"event":"task_run.done","run_id":7,"root_id":5,"task_id":3,"task":"add index","type":"SQL","plan_id":1,` +
		`"queue":"default","database_id":"orders","to":"DONE"}`)
	for query, wanted := range map[string]bool{
		"": true, "plan=1": true, "plan=2": false, "run=7": true, "run=5": true, "run=3": false,
		"task=3": true, "task=add+index": true, "task=add": false, "type=SQL,HTTP": true, "type=HTTP": false,
		"status=done": true, "status=FAILED,DONE": true, "status=FAILED": false, "queue=default": true, "queue=x": false,
		"database=orders": true, "database=x": false, "plan=1&status=FAILED": false,
	} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		f, err := history.ParseFilter(values)
		require.NoError(t, err, query)
		require.Equal(t, wanted, f.Wants(line), query)
		require.True(t, f.Wants(history.GapLine("why")), query)
	}
	f, err := history.ParseFilter(url.Values{"type": {"SQL"}, "queue": {"far"}})
	require.NoError(t, err)
	require.True(t, f.Wants([]byte(`{"run_id":7,"type":null,"queue":null}`)), "of a run that is gone")
	for _, query := range []string{"plan=x", "run=0", "status=OPEN", "colour=red", "status=DONE&status=FAILED"} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, err = history.ParseFilter(values)
		require.Error(t, err, query)
	}
}

// Of a transaction whose first lines were forgotten the rest is not all, whoever stands between its lines.
func TestATransactionThatIsKeptInPartIsNotFound(t *testing.T) {
	t.Parallel()
	h := newHistory(t, history.Config{Lines: 3})
	h.Append("0/20", []byte("b1"))
	h.Append("", []byte("note"))
	h.Append("0/20", []byte("b2"))
	r, found := follow(t, h, "0/20")
	require.True(t, found)
	require.Equal(t, "b1 note b2", texts(read(t, r)))
	for _, next := range []string{"c", "d"} {
		h.Append("0/30", []byte(next)) // the first drops b1, the second the note
		_, found = follow(t, h, "0/20")
		require.False(t, found, next)
	}
	r, found = follow(t, h, "0/30")
	require.True(t, found)
	require.Equal(t, "c d", texts(read(t, r)))
}

// A reader has a place before its first line, and moves on with what it reads, whoever gave the positions of the lines.
func TestAReaderCanResumeBeforeItHasReadALine(t *testing.T) {
	t.Parallel()
	h := newHistory(t, history.Config{Lines: 2})
	r, _ := follow(t, h, "")
	before := r.Position()
	h.Append("0/10", []byte("a"))
	again, found := follow(t, h, before)
	require.True(t, found)
	require.Equal(t, "a", texts(read(t, again)))
	require.Equal(t, "a", texts(read(t, r)))
	h.Append("0/10", []byte("b"))
	again, found = follow(t, h, r.Position())
	require.True(t, found)
	require.Equal(t, "b", texts(read(t, again)))
	h.Append("", []byte("c"))
	_, found = follow(t, h, before)
	require.False(t, found)
}
