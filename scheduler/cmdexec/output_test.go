//go:build linux

package cmdexec

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOutputOfBothStreamsKeepsItsOrder(t *testing.T) {
	t.Parallel()
	e := executor(t, Command{Path: script(t, `for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done`)}, 0)
	r := &recorder{}
	_, err := e.Execute(t.Context(), r.run(`{"command":"c"}`))
	require.NoError(t, err)
	require.Equal(t, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\nout 4\nerr 4\nout 5\nerr 5\n", r.text())
}

func TestOutputIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	e := executor(t, Command{Path: script(t, `head -c 1000000 /dev/zero | tr '\0' x; echo; echo the end; exit 1`)}, 0)
	r := &recorder{}
	_, err := e.Execute(t.Context(), r.run(`{"command":"c"}`))
	f := failure(t, err)
	require.True(t, strings.HasSuffix(f.Detail, "x\nthe end"), "the detail has the end of the output")
	require.Less(t, len(f.Detail), tailSize+100)
	rows := r.logged()
	last := rows[len(rows)-1]
	require.Equal(t, map[string]any{
		"kind": "output", "truncated": true, "dropped_bytes": float64(1000009 - maxOutput),
		"text": "[output cut after 256 KiB: 737865 bytes dropped]",
	}, last)
	var kept strings.Builder
	for _, row := range rows[:len(rows)-1] {
		text := row["text"].(string)
		require.LessOrEqual(t, len(text), chunkSize)
		kept.WriteString(text)
	}
	require.Equal(t, strings.Repeat("x", maxOutput), kept.String())
}

func TestACommandDoesNotWaitForTheLog(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/written"
	e := executor(t, Command{Path: script(t, `head -c 3000000 /dev/zero; echo $$ >"$1"`), Args: []string{file}}, 0)
	r, ended := &recorder{hold: make(chan struct{})}, make(chan error, 1)
	go func() {
		_, err := e.Execute(t.Context(), r.run(`{"command":"c"}`))
		ended <- err
	}()
	pids(t, file, 1) // all is written, and no row yet
	require.Empty(t, r.logged())
	close(r.hold)
	require.NoError(t, <-ended)
	require.NotEmpty(t, r.logged())
}

func TestRowsHaveWholeCharactersThatJSONBTakes(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	o := newOutput(r.log)
	text := "x" + strings.Repeat("ü€😀", maxOutput/9)
	for i := range len(text) { // every character is split
		_, _ = o.Write([]byte{text[i]})
		if i%10000 == 0 {
			require.True(t, o.flush(t.Context(), 1, false))
		}
	}
	require.True(t, o.flush(t.Context(), 1, true))
	require.Equal(t, strings.ToValidUTF8(text[:maxOutput], "\uFFFD"), r.text())

	r = &recorder{}
	o = newOutput(r.log)
	_, _ = o.Write([]byte("a\x00\xffb\xe2\x82"))
	require.True(t, o.flush(t.Context(), 1, true))
	require.Equal(t, "a\uFFFD\uFFFDb\uFFFD", r.text())
}

func TestRowsAppearWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, ended := &recorder{}, make(chan struct{})
		o := newOutput(r.log)
		done := make(chan struct{})
		go func() {
			defer close(done)
			o.record(t.Context(), ended)
		}()
		_, _ = o.Write([]byte("first"))
		synctest.Wait()
		require.Empty(t, r.logged())
		time.Sleep(flushAfter) //nolint:forbidigo // the bubble's clock, not a wait
		synctest.Wait()
		require.Equal(t, "first", r.text())

		_, _ = o.Write([]byte(strings.Repeat("y", chunkSize)))
		synctest.Wait()
		require.Len(t, r.logged(), 2)
		close(ended)
		<-done
	})
}

func TestARowThatCouldNotBeWrittenIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	down := true
	o := newOutput(func(ctx context.Context, kind string, detail any) error {
		if down {
			return errors.New("down")
		}
		return r.log(ctx, kind, detail)
	})
	_, _ = o.Write([]byte("one "))
	require.False(t, o.flush(t.Context(), 1, false))
	down = false
	_, _ = o.Write([]byte("two"))
	require.True(t, o.flush(t.Context(), 1, false))
	require.Equal(t, "one two", r.text())
}
