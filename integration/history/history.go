// Package history judges what a database went through, from a replication slot of its own, and knows nothing of the code:
// every commit in order, held against the contract's gates, edges and events.
package history

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
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
	plan         int64
	version      []int
	database     string
	sequential   bool
	skipped      fact
	paused, done fact // done: DONE or SKIPPED
	lost         fact // failed for good
	canceled     fact
	needs        map[int64]bool
	skippedAt    time.Time // the last commit within which it was skipped: it may not be at its end
	outcome      string    // of the run that ended last
	last         *seenRun  // that run
	born         time.Time
}

type seenRun struct {
	task        int64
	status      string
	retried     bool
	availableAt time.Time
	born        time.Time
	ended       time.Time
}

// sawBirth says whether the promotion of r surely saw that the other run was there: what has seen r has seen what was inserted with it.
func (r *seenRun) sawBirth(other *seenRun) bool {
	return other.born.Equal(r.born) || other.born.Before(r.availableAt.Add(-margin))
}

// promotedFrom says whether a run that was such has been let through: one that has no gate is AVAILABLE from its INSERT on.
func (r *seenRun) promotedFrom(was string) bool {
	return (was == "" || was == "PENDING") && r.active()
}

func (r *seenRun) active() bool     { return r.status == "AVAILABLE" || r.status == "RUNNING" }
func (r *seenRun) unfinished() bool { return r.status == "PENDING" || r.active() }

// History is what happened, in the order of commits.
type History struct {
	url, slot string

	plans    map[int64]*seenPlan
	tasks    map[int64]*seenTask
	runs     map[int64]*seenRun
	events   map[[2]int64]string // by plan and round
	trail    map[int64][]string  // by plan
	suspects map[int64]bool

	// Commits is all that was committed to tables of Rowrun's; Violations what was wrong with it, in words.
	Commits    []Commit
	Violations []string
	// Promotions is how many were judged.
	Promotions int
}

// Commit is what one transaction changed.
type Commit struct {
	At      time.Time
	Changes []Change
}

// Begin makes the slot: what is committed before it is not seen.
func Begin(ctx context.Context, url string) (*History, error) {
	h := empty()
	h.url = url
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, `SELECT slot_name FROM pg_create_logical_replication_slot(
		'history_' || replace(right(current_database(), 40), '-', '_'), 'test_decoding')`).Scan(&h.slot)
	return h, err
}

func empty() *History {
	return &History{
		plans: map[int64]*seenPlan{}, tasks: map[int64]*seenTask{}, runs: map[int64]*seenRun{}, events: map[[2]int64]string{},
		trail: map[int64][]string{}, suspects: map[int64]bool{},
	}
}

// Change is one row that a transaction wrote. Columns that are NULL are missing.
type Change struct {
	Table, Op string
	Columns   map[string]string
}

// Number is a column as a number, 0 where it is none.
func (c Change) Number(name string) int64 {
	n, _ := strconv.ParseInt(c.Columns[name], 10, 64)
	return n
}

// Time is a column as a moment.
func (c Change) Time(name string) (time.Time, error) { return time.Parse(stamp, c.Columns[name]) }

// Replay reads and judges everything since Begin, or since the last Replay.
func (h *History) Replay(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, h.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err = conn.Exec(ctx, "SET timezone = 'UTC'"); err != nil {
		return err
	}
	rows, err := conn.Query(ctx, `SELECT data FROM pg_logical_slot_get_changes($1, NULL, NULL,
		'include-timestamp', 'true', 'skip-empty-xacts', 'true')`, h.slot)
	if err != nil {
		return err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	change := regexp.MustCompile(`^table rowrun\.(\w+): (\w+): (.*)$`)
	column := regexp.MustCompile(`"?(\w+)"?\[[^:]+\]:('(?:[^']|'')*'|\S+)`)
	var changes []Change
	for _, line := range lines {
		if at, ok := strings.CutPrefix(line, "COMMIT"); ok {
			_, text, _ := strings.Cut(strings.TrimSuffix(at, ")"), "(at ")
			when, err := time.Parse(stamp, text)
			if err != nil {
				return err
			}
			h.Commits = append(h.Commits, Commit{when, changes})
			h.apply(changes, when)
			changes = nil
			continue
		}
		match := change.FindStringSubmatch(strings.ReplaceAll(line, "\n", " "))
		if match == nil {
			continue
		}
		c := Change{match[1], match[2], map[string]string{}}
		for _, m := range column.FindAllStringSubmatch(match[3], -1) {
			if m[2] != "null" {
				c.Columns[m[1]] = strings.Trim(m[2], "'")
			}
		}
		changes = append(changes, c)
	}
	return nil
}

// Events is how many rounds of plans had one.
func (h *History) Events() int { return len(h.events) }

// Trail is what became of the plans that violations are about.
func (h *History) Trail() string {
	var b strings.Builder
	for plan := range h.suspects {
		fmt.Fprintf(&b, "plan %d:\n%s\n", plan, strings.Join(h.trail[plan], "\n"))
	}
	return b.String()
}
