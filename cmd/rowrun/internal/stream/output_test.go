package stream_test

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
)

// A pipe that nobody reads holds nobody up for longer than is said; what was given up isn't written later, and the line
// that was torn is closed.
func TestOutputThatNobodyReadsIsGivenUp(t *testing.T) {
	t.Parallel()
	in, pipe, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = in.Close(), pipe.Close() }()
	out := stream.NewOutput(pipe, 300*time.Millisecond)
	line := strings.Repeat("x", 2999) + "\n"
	_, err = out.Write([]byte("first\n"))
	require.NoError(t, err)
	began := time.Now()
	n, err := out.Write([]byte(strings.Repeat(line, 100)))
	require.ErrorIs(t, err, stream.ErrBlocked)
	require.Less(t, time.Since(began), 5*time.Second)
	require.Less(t, n, 100*len(line))
	require.Zero(t, out.Blocked(), "it is not tried any more")

	out.Bound(time.Now())
	_, err = out.Write([]byte("beyond the end\n"))
	require.ErrorIs(t, err, stream.ErrBlocked)
	out.Bound(time.Now().Add(time.Hour))

	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for all := bufio.NewScanner(in); all.Scan(); {
			lines <- all.Text()
		}
	}()
	require.Eventually(t, func() bool { _, err := out.Write([]byte("last\n")); return err == nil }, 10*time.Second, time.Millisecond)
	require.NoError(t, pipe.Close())
	var got []string
	for l := range lines {
		got = append(got, l)
	}
	require.Equal(t, "first", got[0])
	require.Equal(t, "last", got[len(got)-1])
	for _, l := range got[1 : len(got)-2] {
		require.Equal(t, strings.TrimSuffix(line, "\n"), l)
	}
	require.Less(t, len(got), 100)
}

// torn takes a part of what it is given, once.
type torn struct {
	strings.Builder
	broken bool
}

func (t *torn) Write(p []byte) (int, error) {
	if !t.broken {
		t.broken = true
		n, _ := t.Builder.Write(p[:len(p)/2])
		return n, syscall.ENOSPC
	}
	return t.Builder.Write(p)
}

func TestTornLineIsClosedBeforeTheNext(t *testing.T) {
	t.Parallel()
	to := &torn{}
	out := stream.NewOutput(to, 0)
	_, err := out.Write([]byte("12345678\n"))
	require.True(t, errors.Is(err, syscall.ENOSPC))
	_, err = out.Write([]byte("next\n"))
	require.NoError(t, err)
	require.Equal(t, "1234\nnext\n", to.String())
}
