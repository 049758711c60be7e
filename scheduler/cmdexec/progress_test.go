//go:build linux

package cmdexec

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// reports keeps what was reported.
type reports struct {
	mu  sync.Mutex
	all []string
}

func (r *reports) add(_ context.Context, progress any) error {
	b, err := json.Marshal(progress)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, string(b))
	return err
}

func TestProgressIsFoundInOutput(t *testing.T) {
	t.Parallel()
	e := executor(t, Command{Path: script(t, `echo 'rowrun:progress {"step": 1}'
echo between
echo 'rowrun:progress {"step": 2}' >&2
printf 'rowrun:progress {"step"'; printf ': 3}\n'`)}, 0)
	r, got := &recorder{}, &reports{}
	run := r.run(`{"command":"c"}`)
	run.Progress = got.add
	_, err := e.Execute(t.Context(), run)
	require.NoError(t, err)
	require.NotEmpty(t, got.all)
	require.LessOrEqual(t, len(got.all), 3)
	require.JSONEq(t, `{"step": 3}`, got.all[len(got.all)-1], "the last one always comes")
	require.Contains(t, r.text(), "between", "it is output like any other")
}

func TestTheLastReportNeedsNoNewline(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`echo 'rowrun:progress {"step": 1}'; printf 'rowrun:progress {"step": 2}'`:       `{"step": 2}`,
		`echo 'rowrun:progress {"step": 1}'; printf 'rowrun:progress {"step": 2'`:        `{"step": 1}`, // it was cut off
		`echo 'rowrun:progress {"step": 1}'; printf 'rowrun:progress {"step": 2}\nrest'`: `{"step": 2}`,
	} {
		got := &reports{}
		run := (&recorder{}).run(`{"command":"c"}`)
		run.Progress = got.add
		_, err := executor(t, Command{Path: script(t, body)}, 0).Execute(t.Context(), run)
		require.NoError(t, err)
		require.NotEmpty(t, got.all, body)
		require.JSONEq(t, want, got.all[len(got.all)-1], body)
	}
}

func TestWhatIsNoReportIsLeftAlone(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxProgress)
	for _, line := range []string{
		"rowrun:progress", "rowrun:progress \n", "rowrun:progress 7\n", `rowrun:progress {"step": ` + "\n", " rowrun:progress {}\n",
		"rowrun:progres {}\n", `rowrun:progress {"x": "` + long + `"}` + "\n", "rowrun:progress {} {}\n", "x rowrun:progress {}\n",
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			p := newProgress()
			for b := []byte(line); len(b) > 0; b = b[min(size, len(b)):] {
				p.take(b[:min(size, len(b))])
			}
			require.Nil(t, p.newest, "%.60q in pieces of %d", line, size)
			require.LessOrEqual(t, cap(p.line), 4*maxProgress)
		}
	}
}

func TestReportIsFoundInWhateverPieces(t *testing.T) {
	t.Parallel()
	text := "some\n\nrowrun:progress {\"a\": 1}\nrowrun:progress no\nrowrun:progress\t{}\nrowrun:progress  {\"b\": [1, 2]} \r\nrest"
	for size := 1; size <= len(text); size++ {
		p := newProgress()
		for b := []byte(text); len(b) > 0; b = b[min(size, len(b)):] {
			p.take(b[:min(size, len(b))])
		}
		require.JSONEq(t, `{"b": [1, 2]}`, string(p.newest), "pieces of %d", size)
	}
}
