package store_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// maxSorted is how many rows a statement of a round may put in order.
const maxSorted = 1000

// explained is a database whose server logs the plan of every statement, those inside functions too, as it was executed.
type explained struct {
	log   *storetest.Log
	conn  *pgx.Conn // a user's, without a replica's settings
	marks int
	// What was found: pages by part, and the names of all statements.
	pages map[string]int
	names map[string]bool
}

var (
	rowsOf  = regexp.MustCompile(`on task_run\b.*rows=(\d+) loops=(\d+)\)`)
	removed = regexp.MustCompile(`Rows Removed by (?:Filter|Index Recheck|Join Filter): (\d+)`)
	sorted  = regexp.MustCompile(`\bSort  \(cost.*\(actual rows=(\d+) loops=(\d+)\)`)
	buffers = regexp.MustCompile(`Buffers: shared ([^,\n]*)`)
	hitRead = regexp.MustCompile(`(?:hit|read)=(\d+)`)
	nameOf  = regexp.MustCompile(`Query Text: -- (\w+)`)
	seqScan = regexp.MustCompile(`Seq Scan on (?:task_run|task|task_dependency)\b`)
)

// explain has a database log plans from now on.
func explain(t *testing.T, log *storetest.Log, url string) *explained {
	t.Helper()
	conn := connect(t, url)
	name := query[string](t, conn, `SELECT current_database()`)
	exec(t, conn, `LOAD 'auto_explain'`)
	for _, set := range []string{
		`session_preload_libraries = 'auto_explain'`, `auto_explain.log_min_duration = 0`, `auto_explain.log_analyze = on`,
		`auto_explain.log_timing = off`, `auto_explain.log_buffers = on`, `auto_explain.log_nested_statements = on`,
	} {
		exec(t, conn, `ALTER DATABASE `+name+` SET `+set)
	}
	return &explained{log: log, conn: connect(t, url), pages: map[string]int{}, names: map[string]bool{}}
}

// check runs something and reads the plans that the server logged meanwhile: no scan of a whole table, no sort of many
// rows, at most so many rows of task_run visited.
func (e *explained) check(t *testing.T, what string, most int, do func()) {
	t.Helper()
	e.mark(t, 0) // what ran before is logged by then
	before := e.log.Len()
	do()
	text := e.mark(t, before)
	require.Contains(t, text, "on task_run", "no plan was logged: nothing is tested")
	visited, pages, top, catalog := 0, 0, false, false
	for line := range strings.Lines(text) {
		top = top || strings.Contains(line, "plan:")
		if m := nameOf.FindStringSubmatch(line); m != nil {
			e.names[m[1]] = true
		}
		if !strings.Contains(line, "never executed") { // a condition that wasn't asked
			require.NotRegexp(t, seqScan, line, what)
		}
		if m := sorted.FindStringSubmatch(line); m != nil {
			require.LessOrEqual(t, number(m[1])*number(m[2]), maxSorted, "%s: a sort\n%s", what, text)
		}
		switch m := buffers.FindStringSubmatch(line); {
		case m != nil && top: // the first of a plan is that of the whole statement
			for _, n := range hitRead.FindAllStringSubmatch(m[1], -1) {
				pages += number(n[1])
			}
			top = false
		}
		if strings.Contains(line, "(cost=") {
			catalog = strings.Contains(line, " on pg_") // whose rows are locks and sessions, also those of an autovacuum
		}
		if m := rowsOf.FindStringSubmatch(line); m != nil {
			visited += number(m[1]) * number(m[2])
		} else if m := removed.FindStringSubmatch(line); m != nil && !catalog {
			visited += number(m[1])
		}
	}
	// The fewest of its rounds: the first has a session read the catalog.
	if before, ok := e.pages[what]; !ok || pages < before {
		e.pages[what] = pages
	}
	t.Logf("%s: %d rows of task_run visited, %d pages", what, visited, pages)
	require.LessOrEqual(t, visited, most, "%s\n%s", what, text)
}

// mark waits until the server has logged all that ran so far, and returns its log from a place on.
func (e *explained) mark(t *testing.T, from int) (text string) {
	t.Helper()
	e.marks++
	mark := fmt.Sprintf("mark %d of %p", e.marks, e)
	exec(t, e.conn, `SELECT '`+mark+`'`)
	require.Eventually(t, func() bool {
		text = e.log.From(from)
		return strings.Contains(text, mark)
	}, time.Minute, 5*time.Millisecond)
	return text
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
