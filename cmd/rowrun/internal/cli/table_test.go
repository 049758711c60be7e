package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

func TestCutLeavesBothEndsAndCountsCells(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"short", 5, "short"},
		{"longer", 5, "lo…er"},
		{"longer", 4, "lo…r"},
		{"每日销售报表", 6, "每…表"},
		{"每日销售报表", 9, "每日…报表"},
		{"a🚚🚚🚚b", 4, "a…b"},
		{"🇩🇪🇫🇷🇯🇵", 5, "🇩🇪…🇯🇵"},
		{"anything", 1, "…"},
		{"anything", 0, ""},
		{"first" + strings.Repeat("x", 1<<24) + "last", 8, "firs…ast"},
		{"first" + strings.Repeat("\u0301", 1<<20) + "last", 20, "first" + strings.Repeat("\u0301", (20*64-5)/2) + "…" + strings.Repeat("\u0301", (20*64-4)/2) + "last"},
	} {
		require.Equal(t, c.want, Cut(c.text, c.most), "%q in %d", c.text, c.most)
	}
}

// Whatever stands in the cells, a line is never wider than its screen, and no value that fits is changed.
func TestLinesFitTheScreen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.OneOf(rapid.SampledFrom([]string{"", "FAILED", "PENDING (paused)", "订单数据库", "🇩🇪🚚✉️", "3 min ago"}), rapid.StringN(0, 60, -1))
		columns := []Column{Whole("RUN"), Status(), Free("TASK"), Free("TYPE").Spare(), Free("DETAIL"), Whole("AT").Wide()}
		table := Table{Columns: columns}
		for range rapid.IntRange(0, 6).Draw(t, "rows") {
			row := make([]string, len(columns))
			for j := range row {
				row[j] = cell.Draw(t, "cell")
			}
			table.Rows = append(table.Rows, row)
		}
		screen := Screen{Width: rapid.IntRange(leastWidth, 250).Draw(t, "width"), Symbols: rapid.Bool().Draw(t, "symbols")}
		for _, line := range table.lines(screen, false) {
			require.LessOrEqual(t, cells(line), screen.Width, "%q", line)
			require.NotRegexp(t, ` $`, line)
		}
		for i, line := range table.lines(Screen{}, true)[1:] {
			for _, value := range table.Rows[i] {
				require.Contains(t, line, strings.TrimRight(Printable(value), " "))
			}
		}
	})
}

func TestTableInAPipeKeepsItsColumns(t *testing.T) {
	t.Parallel()
	table := Table{Columns: []Column{Whole("RUN"), Status(), Free("DATABASE"), Free("DETAIL")}, Rows: [][]string{{"1", "DONE", "", strings.Repeat("x", 200)}}}
	lines := table.lines(Screen{}, false)
	require.Equal(t, "RUN  STATUS  DATABASE  DETAIL", lines[0])
	require.Equal(t, "1    DONE              "+strings.Repeat("x", 40)+"…"+strings.Repeat("x", 39), lines[1])
	require.Equal(t, "1    ✓ DONE  "+strings.Repeat("x", 13)+"…"+strings.Repeat("x", 13), table.lines(Screen{Width: 40, Symbols: true}, false)[1])
}

func TestAges(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0: "now", 900 * time.Millisecond: "now", -10 * time.Second: "in 10 s", 59 * time.Second: "59 s ago", 61 * time.Second: "1 min ago",
		3 * time.Hour: "3 h ago", -3 * time.Hour: "in 3 h", 47 * time.Hour: "47 h ago", 49 * time.Hour: "2 d ago", 90 * 24 * time.Hour: "2026-08-25",
	} {
		at := now.Add(-d)
		require.Equal(t, want, Age(now, &at))
	}
	require.Empty(t, Age(now, nil))
}

func TestScreenIsWhatTheVariablesSay(t *testing.T) {
	t.Parallel()
	var buffer bytes.Buffer
	of := func(variables map[string]string) Screen {
		return ScreenOf(&buffer, func(name string) (string, bool) { value, ok := variables[name]; return value, ok })
	}
	require.Equal(t, Screen{}, of(nil), "nobody sees a buffer")
	require.Equal(t, Screen{Width: 120}, of(map[string]string{"COLUMNS": "120", "TERM": "xterm"}))
	require.Equal(t, Screen{Width: leastWidth}, of(map[string]string{"COLUMNS": "3"}))
	require.Equal(t, Screen{}, of(map[string]string{"COLUMNS": "many"}))
}

func TestFormsOfAnOutput(t *testing.T) {
	t.Parallel()
	type value struct {
		ID   int    `json:"run_id"`
		Text string `json:"text"`
		No   string `json:"no"`
	}
	written := func(form string, table Table, v any) (stdout, stderr string) {
		var out, err bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		cmd.SetErr(&err)
		o := Output{Format: form, Lookup: func(string) (string, bool) { return "", false }}
		require.NoError(t, o.Write(cmd, v, table))
		return out.String(), err.String()
	}
	odd := value{7, "a: \x1b[2J\u202e名\nnext", "true"}
	table := Table{Columns: []Column{Whole("RUN"), Free("TEXT"), Whole("NO").Wide()}, Rows: [][]string{{"7", odd.Text, odd.No}}, None: "no run"}

	text, _ := written("json", table, odd)
	require.Contains(t, text, `\u001b[2J\u202e名\nnext`)
	var back value
	require.NoError(t, json.Unmarshal([]byte(text), &back))
	require.Equal(t, odd, back)

	text, _ = written("yaml", table, odd)
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\u202e")
	require.Regexp(t, `^run_id: 7\ntext: `, text, "the order of JSON")
	var fields map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &fields))
	require.Equal(t, map[string]any{"run_id": 7, "text": odd.Text, "no": "true"}, fields, text)

	hostile := map[string]any{"c1": "\u009b31m\u007f\ufffe\ufeff\u0085", strings.Repeat("k", 2000): []any{nil, true, 1.5, "1.5", "null", "", "~", "- x", strings.Repeat("y ", 2000)}, "none": map[string]any{}}
	text, _ = written("yaml", table, hostile)
	require.NotContains(t, text, "\u009b")
	require.NoError(t, yaml.Unmarshal([]byte(text), &fields))
	delete(fields, "run_id")
	delete(fields, "text")
	delete(fields, "no")
	require.Equal(t, hostile, fields, text)
	text, _ = written("yaml", table, json.RawMessage(`{"a": 1e131071, "b": 12345678901234567890123, "c": -0.10, "d": 1.0}`))
	require.Equal(t, "a: 1e131071\nb: 12345678901234567890123\nc: -0.10\nd: 1.0\n", text, "numbers as they are")

	text, _ = written("name", table, odd)
	require.Equal(t, "7\n", text)
	text, _ = written("table", table, odd)
	require.NotContains(t, text, "NO")
	text, _ = written("wide", table, odd)
	require.Contains(t, text, "NO")

	table.Rows = nil
	for _, form := range []string{"table", "wide"} {
		text, said := written(form, table, odd)
		require.Empty(t, text)
		require.Equal(t, "no run\n", said)
	}
	text, said := written("json", table, []value{})
	require.Equal(t, "[]\n", text)
	require.Empty(t, said)
}
