package commands

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store"
)

// goldenNow is when the golden tables are looked at.
func goldenNow() time.Time { return time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC) }

func before(d time.Duration) time.Time { return goldenNow().Add(-d) }

// captured is what write leaves on a terminal of that size.
func captured(t *testing.T, columns uint16, write func(terminal *os.File)) string {
	t.Helper()
	pty, terminal := openTerminal(t)
	require.NoError(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns}))
	read := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(pty) // it ends with an error when the terminal is closed
		read <- string(text)
	}()
	write(terminal)
	require.NoError(t, terminal.Close())
	return strings.ReplaceAll(<-read, "\r\n", "\n")
}

// golden compares with what stands in testdata; UPDATE_GOLDEN=1 writes it there.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "screens", name+".txt")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "UPDATE_GOLDEN=1 writes what is shown now")
}

// fits says that no line is wider than the terminal.
func fits(t *testing.T, columns int, text string) {
	t.Helper()
	options := displaywidth.Options{ControlSequences: true}
	for line := range strings.SplitSeq(text, "\n") {
		require.LessOrEqual(t, options.String(line), columns, "%q", line)
	}
}

func TestScreensAsTheyAreSeen(t *testing.T) {
	t.Parallel()
	screens := map[string][]cli.Table{
		"runs":     {runTable(goldenRuns(), goldenNow())},
		"plans":    {planTable(goldenPlans(), goldenNow())},
		"tasks":    {taskTable(goldenTasks(), goldenNow())},
		"replicas": {replicaTable(goldenReplicas())},
	}
	for name, tables := range screens {
		for _, columns := range []uint16{80, 120, 200} {
			t.Run(fmt.Sprintf("%s-%d", name, columns), func(t *testing.T) {
				t.Parallel()
				for kind, variables := range map[string]map[string]string{
					"xterm":    {"TERM": "xterm-256color"},
					"no-color": {"TERM": "xterm-256color", "NO_COLOR": "1"},
					"dumb":     {"TERM": "dumb"},
				} {
					text := captured(t, columns, func(terminal *os.File) {
						out := cli.Output{Format: "table", Lookup: rowruntest.LookupIn(variables)}
						require.NoError(t, out.WriteParts(terminal, tables...))
					})
					fits(t, int(columns), text)
					require.Equal(t, kind == "xterm", strings.Contains(text, "\x1b["), kind)
					golden(t, fmt.Sprintf("%s-%d-%s", name, columns, kind), text)
				}
			})
		}
	}
}

func set[T any](value T) *T { return &value }

func goldenRuns() []store.Run {
	run := func(id int64, status, task string, ago time.Duration) store.Run {
		return store.Run{ID: id, RootID: id, TaskID: 3, TaskName: task, Type: "DATABASE_MIGRATE", Queue: "default", Status: status, UpdatedAt: before(ago)}
	}
	long := run(10041, "FAILED", "V20261123.1__add_an_index_for_orders_by_customer.sql", 3*time.Minute)
	long.PlanID, long.DatabaseID, long.Version, long.Attempt = set(int64(7)), set("orders"), set("20261123.1"), 2
	long.Code, long.Detail = set("23505"), set(`could not create unique index "orders_customer_key": Key (customer_id)=(4711) is duplicated`)
	chinese := run(10040, "RUNNING", "每日销售报表：重新计算所有门店的库存与营业额", 42*time.Second)
	chinese.Type, chinese.ReplicaID = "HTTP", set("web-1-0c9d2b9e-6a44-4c80-9d0e-3a1f5f3d2e11")
	emoji := run(10039, "AVAILABLE", "send 🇩🇪 newsletter ✉️ with the news of all shops 🚚", 0)
	emoji.Type = "COMMAND"
	hostile := run(10038, "CANCELED", "a\tname\nof \x1b[2Jtwo lines", 26*time.Hour)
	hostile.Detail = set("a mistake")
	return []store.Run{long, chinese, emoji, hostile, run(10037, "PENDING", "plain", 9*time.Hour), run(1, "DONE", "first", 200*24*time.Hour)}
}

func goldenPlans() []store.Plan {
	return []store.Plan{
		{ID: 12, Project: "shop", Name: "发布 2.0：订单数据库与支付数据库的迁移，以及所有报表的重新计算", Status: "RUNNING", Round: 1, CreatedAt: before(5 * time.Minute), Tasks: 120, Pending: 80, Running: 4, Done: 36},
		{ID: 11, Project: "default", Name: "nightly", Status: "FAILED", Paused: true, Round: 3, CreatedAt: before(30 * time.Hour), Tasks: 3, Done: 1, Failed: 1, Skipped: 1},
		{ID: 1, Project: "default", Name: "", Status: "NOT_STARTED", Round: 1, CreatedAt: before(90 * 24 * time.Hour)},
	}
}

func goldenTasks() []store.Task {
	return []store.Task{
		{ID: 31, PlanID: set(int64(12)), Name: "V2.1__创建发票表.sql", Type: "DATABASE_MIGRATE", Queue: "default", DatabaseID: set("payments"), Version: set("2.1"), Status: "SKIPPED", SkipReason: set("by hand, as the table was there"), CreatedAt: before(time.Hour), LastRunID: set(int64(10041))},
		{ID: 30, Name: "report", Type: "com.example.reports.monthly.v2", Queue: "reports", Status: "NOT_STARTED", CreatedAt: before(2 * time.Second)},
	}
}

func goldenReplicas() []store.ReplicaStatus {
	return []store.ReplicaStatus{
		{ReplicaID: "web-1-0c9d2b9e-6a44-4c80-9d0e-3a1f5f3d2e11", Name: "web-1", Version: "v0.1.0", State: "ACTIVE", Live: true, SilentMS: 1230, Queues: []string{"default", "reports"}, Types: []string{"NOOP", "SQL", "DATABASE_MIGRATE", "HTTP"}, Databases: []string{"orders", "payments"}, Concurrency: 20, Running: 7},
		{ReplicaID: "主机-二-5d1f5b7a-6a44-4c80-9d0e-3a1f5f3d2e11", Name: "主机-二", Version: "v0.1.0", State: "ACTIVE", SilentMS: 90_000, Queues: []string{"default"}, Types: []string{"NOOP"}, Concurrency: 20},
	}
}
