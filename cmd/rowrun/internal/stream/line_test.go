package stream

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

var at = time.Date(2026, 11, 21, 10, 0, 0, 123456000, time.FixedZone("", 3600)) //nolint:gochecknoglobals // a constant

func of[T any](v T) *T { return &v }

func row() *store.StreamRow {
	return &store.StreamRow{
		ID: 7, RootID: 7, TaskID: 3, TaskName: "add index", Type: "DATABASE_MIGRATE", Queue: "default", PlanID: of(int64(1)),
		DatabaseID: of("orders"), Version: of("1.10"), CreatedAt: at.Add(-time.Second), AvailableAt: at,
	}
}

// render is what a printer writes of these lines.
func render(t *testing.T, c PrinterConfig, lines ...line) string {
	t.Helper()
	var out bytes.Buffer
	c.Out = &out
	p, err := NewPrinter(c)
	require.NoError(t, err)
	for _, l := range lines {
		p.transition(l)
	}
	require.NoError(t, p.flush())
	return out.String()
}

func TestLineIsTheContracts(t *testing.T) {
	t.Parallel()
	promoted := events.Transition{RunID: 7, TaskID: 3, PlanID: of(int64(1)), From: "PENDING", To: "AVAILABLE"}
	want := `{"level":"info","time":"2026-11-21T09:00:00.123456Z","stream":"task_run","event":"task_run.available","run_id":7,"root_id":7,` +
		`"task_id":3,"task":"add index","type":"DATABASE_MIGRATE","plan_id":1,"queue":"default","database_id":"orders","version":"1.10",` +
		`"attempt":0,"from":"PENDING","to":"AVAILABLE","replica_id":null,"lsn":null,"message":"task run available"}` + "\n"
	require.Equal(t, want, render(t, PrinterConfig{}, change(promoted, row(), at.Add(time.Hour))))

	inserted := render(t, PrinterConfig{}, pending(row()))
	require.Contains(t, inserted, `"time":"2026-11-21T08:59:59.123456Z","stream":"task_run","event":"task_run.pending"`)
	require.Contains(t, inserted, `"from":null,"to":"PENDING"`)

	failed := row()
	failed.StartedAt, failed.FinishedAt = at.Add(time.Second), at.Add(3*time.Second/2)
	failed.Code, failed.Detail = of("ERROR"), of("a \"quoted\"\nline")
	ended := events.Transition{RunID: 7, TaskID: 3, From: "RUNNING", To: "FAILED", Attempt: 2, ReplicaID: of("one")}
	got := render(t, PrinterConfig{}, change(ended, failed, at))
	require.Contains(t, got, `"attempt":2,"from":"RUNNING","to":"FAILED","replica_id":"one","lsn":null,"code":"ERROR",`+
		`"detail":"a \"quoted\"\nline","retry_run_id":null,"run_ms":500,"message":"task run failed"}`)

	ended.To, failed.RetryRunID = "CANCELED", of(int64(9))
	require.Contains(t, render(t, PrinterConfig{}, change(ended, failed, at)), `"retry_run_id":9,`)
	started := events.Transition{RunID: 7, TaskID: 3, From: "AVAILABLE", To: "RUNNING", ReplicaID: of("one")}
	require.Contains(t, render(t, PrinterConfig{}, change(started, failed, at)), `"lsn":null,"wait_ms":2000,"message"`)
	failed.RunAt = at // created a second before
	require.Contains(t, render(t, PrinterConfig{}, change(started, failed, at)), `"lsn":null,"wait_ms":2000,"late_ms":1000,"message"`)
	failed.RunAt = at.Add(-time.Hour)
	require.Contains(t, render(t, PrinterConfig{}, change(started, failed, at)), `"wait_ms":2000,"late_ms":2000,"message"`)
}

func TestLineOfARemovedRunSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	gone := change(events.Transition{RunID: 7, TaskID: 3, From: "PENDING", To: "CANCELED"}, nil, at)
	require.Equal(t, `{"level":"info","time":"2026-11-21T09:00:00.123456Z","stream":"task_run","event":"task_run.canceled","run_id":7,"root_id":null,`+
		`"task_id":3,"task":null,"type":null,"plan_id":null,"queue":null,"database_id":null,"version":null,"attempt":0,"from":"PENDING",`+
		`"to":"CANCELED","replica_id":null,"lsn":null,"code":null,"detail":null,"retry_run_id":null,"message":"task run canceled"}`+"\n",
		render(t, PrinterConfig{}, gone))
	require.Contains(t, render(t, PrinterConfig{Text: true}, gone), "run 7        CANCELED  task 3")
}

func TestTextIsAlignedAndHarmless(t *testing.T) {
	t.Parallel()
	failed := row()
	failed.TaskName = "evil\x1b[2J\nname"
	failed.Code, failed.Detail, failed.RetryRunID = of("ERROR"), of("first\nsecond"), of(int64(9))
	failed.StartedAt, failed.FinishedAt = at, at.Add(time.Second)
	ended := change(events.Transition{RunID: 7, TaskID: 3, PlanID: of(int64(1)), From: "RUNNING", To: "FAILED", Attempt: 1}, failed, at)
	plain := render(t, PrinterConfig{Text: true}, ended, pending(row()))
	require.Equal(t, "09:00:01.123  run 7        FAILED    DATABASE_MIGRATE evil\uFFFD[2J name        orders 1.10 plan 1 attempt 1 took 1s "+
		"ERROR: first second (run 9 follows)\n"+
		"08:59:59.123  run 7        PENDING   DATABASE_MIGRATE add index            orders 1.10 plan 1\n", plain)
	require.Contains(t, render(t, PrinterConfig{Text: true, Color: true}, ended), "\x1b[31m✗ FAILED   "+reset)
}

func TestDetailIsCutAtTheBorderOfACharacter(t *testing.T) {
	t.Parallel()
	require.Nil(t, cut(nil))
	require.Equal(t, strings.Repeat("a", maxDetail), *cut(of(strings.Repeat("a", maxDetail+1))))
	require.Equal(t, strings.Repeat("a", maxDetail-1), *cut(of(strings.Repeat("a", maxDetail-1) + "€")))
	require.Equal(t, strings.Repeat("€", maxDetail/3), *cut(of(strings.Repeat("€", maxDetail))))
}

type refusing struct{ left int }

var errRefused = errors.New("refused")

func (r *refusing) Write(p []byte) (int, error) {
	if r.left--; r.left < 0 {
		return 0, errRefused
	}
	return len(p), nil
}

func TestPrinterKeepsItsFirstErrorUntilItIsForgotten(t *testing.T) {
	t.Parallel()
	out := &refusing{}
	p, err := NewPrinter(PrinterConfig{Out: out})
	require.NoError(t, err)
	for range 1000 {
		p.transition(pending(row()))
	}
	require.ErrorIs(t, p.flush(), errRefused)
	out.left = 1
	require.ErrorIs(t, p.flush(), ErrOutput)
	p.forget()
	p.gap(at, "because")
	require.NoError(t, p.flush())
	_, err = NewPrinter(PrinterConfig{})
	require.Error(t, err)
}

func TestPrintedRemembersTheLastRuns(t *testing.T) {
	t.Parallel()
	p := newPrinted()
	for id := range int64(3 * printedLimit) {
		p.set(id, 1)
		if p.set(id, ended); id == 7 {
			p.set(id, 2)
		}
		if p.full() {
			p.turn()
		}
	}
	require.Zero(t, p.at(0))
	require.Equal(t, uint8(ended), p.at(2*printedLimit))
	require.LessOrEqual(t, len(p.young)+len(p.old), 2*printedLimit)
	require.Equal(t, uint8(2), p.at(7), "its row may change again without a change of status")
	p.set(7, ended)
	for range 2 {
		p.turn()
	}
	require.Zero(t, p.at(7))
	for id := range int64(2 * printedMost) { // nobody turns them
		p.set(id, ended)
	}
	require.LessOrEqual(t, len(p.young)+len(p.old), 2*printedMost)
}
