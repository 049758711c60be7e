package integration_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// margin is how long before a statement something must have been committed for that statement to have seen it surely.
const margin = 300 * time.Millisecond

// fact is something that is so or not, and since when.
type fact struct {
	is    bool
	since time.Time
}

func (f *fact) set(is bool, at time.Time) {
	if f.since.IsZero() || f.is != is {
		f.is, f.since = is, at
	}
}

// surely says that it was so for any statement that began at that time; maybe, that it was for one.
func (f fact) surely(at time.Time) bool { return f.is && f.since.Before(at.Add(-margin)) }
func (f fact) maybe(at time.Time) bool  { return f.is || f.since.After(at.Add(-margin)) }

// seenPlan, seenTask and seenRun are rows as they stand after a commit.
type seenPlan struct {
	// rounds are those that it was in within the commit of the time changed: one transaction may skip and unskip.
	rounds  []int64
	changed time.Time

	round     int64
	limits    []fact // one per value that it had; is: it has it still
	values    []int64
	onFailure string
	paused    fact
	event     string // of the log's row, "" where there is none
}

type seenTask struct {
	plan, version int64
	database      string
	sequential    bool
	skipped       bool
	paused, done  fact // done: DONE or SKIPPED
	lost          fact // failed for good
	canceled      fact
	needs         map[int64]bool
	skippedAt     time.Time // the last commit within which it was skipped: it may not be at its end
	outcome       string    // of the run that ended last
	born          time.Time
}

type seenRun struct {
	task        int64
	status      string
	retried     bool
	availableAt time.Time
	born        time.Time
}

func (r *seenRun) active() bool     { return r.status == "AVAILABLE" || r.status == "RUNNING" }
func (r *seenRun) unfinished() bool { return r.status == "PENDING" || r.active() }

// planHistory is what happened, in the order of commits.
type planHistory struct {
	url, slot string

	plans      map[int64]*seenPlan
	tasks      map[int64]*seenTask
	runs       map[int64]*seenRun
	events     map[[2]int64]string // by plan and round
	violations []string
	promotions int
	trail      map[int64][]string // by plan
	suspects   map[int64]bool
}

// recordPlans begins to record.
func recordPlans(t *testing.T, d *database) *planHistory {
	t.Helper()
	h := &planHistory{
		url: d.url, slot: "history_" + strings.ReplaceAll(ask[string](t, d, "SELECT right(current_database(), 40)"), "-", "_"),
		plans: map[int64]*seenPlan{}, tasks: map[int64]*seenTask{}, runs: map[int64]*seenRun{}, events: map[[2]int64]string{},
		trail: map[int64][]string{}, suspects: map[int64]bool{},
	}
	d.exec(t, "SELECT pg_create_logical_replication_slot($1, 'test_decoding')", h.slot)
	return h
}

// changed is one row that a transaction wrote. Columns that are NULL are missing.
type changed struct {
	table, op string
	columns   map[string]string
}

func (c changed) number(name string) int64 {
	n, _ := strconv.ParseInt(c.columns[name], 10, 64)
	return n
}

// check replays everything and requires that nothing was wrong.
func (h *planHistory) check(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), h.url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(t.Context(), "SET timezone = 'UTC'")
	require.NoError(t, err)
	rows, err := conn.Query(t.Context(), `SELECT data FROM pg_logical_slot_get_changes($1, NULL, NULL,
		'include-timestamp', 'true', 'skip-empty-xacts', 'true')`, h.slot)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)

	change := regexp.MustCompile(`^table rowrun\.(\w+): (\w+): (.*)$`)
	column := regexp.MustCompile(`"?(\w+)"?\[[^:]+\]:('(?:[^']|'')*'|\S+)`)
	var commit []changed
	for _, line := range lines {
		if at, ok := strings.CutPrefix(line, "COMMIT"); ok {
			_, at, ok = strings.Cut(strings.TrimSuffix(at, ")"), "(at ")
			require.True(t, ok, line)
			h.apply(commit, parseTime(t, at))
			commit = nil
			continue
		}
		match := change.FindStringSubmatch(strings.ReplaceAll(line, "\n", " "))
		if match == nil {
			continue
		}
		c := changed{match[1], match[2], map[string]string{}}
		for _, m := range column.FindAllStringSubmatch(match[3], -1) {
			if m[2] != "null" {
				c.columns[m[1]] = strings.Trim(m[2], "'")
			}
		}
		commit = append(commit, c)
	}
	for plan := range h.suspects {
		t.Logf("plan %d:\n%s", plan, strings.Join(h.trail[plan], "\n"))
	}
	require.Empty(t, h.violations)
	require.NotZero(t, h.promotions)
	require.NotEmpty(t, h.events)
	t.Logf("%d commits' changes, %d promotions, %d events", len(lines), h.promotions, len(h.events))
}

func parseTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(stamp, text)
	require.NoError(t, err)
	return at
}
