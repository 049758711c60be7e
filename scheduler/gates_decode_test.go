package scheduler_test

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Rows as the slot shows them. Nothing here looks at Rowrun's internal columns: what a gate says is worked out anew.

type planRow struct {
	id        int64
	limit     int // 0: none
	onFailure string
	paused    bool
}

type taskRow struct {
	id, plan        int64 // plan 0: none
	db              string
	version         []*big.Int
	paused, skipped bool
}

type dependencyRow struct{ task, on int64 }

type runRow struct {
	id, task, plan     int64
	db, status, kind   string
	version            []*big.Int
	sequential         bool
	priority           int64
	runAt, availableAt time.Time
	startedAt          time.Time
	root               int64
	after              []int64  // first runs of jobs
	limits             []string // its limit keys
}

func (r *runRow) unfinished() bool { return r.status == "PENDING" || r.active() }
func (r *runRow) active() bool     { return r.status == "AVAILABLE" || r.status == "RUNNING" }
func (r *runRow) gated() bool      { return r.plan != 0 || r.db != "" || r.limits != nil }

// before is the order of promotion.
func (r *runRow) before(o *runRow) bool {
	if r.priority != o.priority {
		return r.priority > o.priority
	}
	if !r.runAt.Equal(o.runAt) {
		return r.runAt.Before(o.runAt)
	}
	return r.id < o.id
}

// parseVersion gives the numbers of a version without trailing zeros; nil where there is none.
func parseVersion(text string) []*big.Int {
	if text == "" {
		return nil
	}
	numbers := []*big.Int{}
	for part := range strings.SplitSeq(text, ".") {
		n, _ := new(big.Int).SetString(part, 10)
		numbers = append(numbers, n)
	}
	for len(numbers) > 0 && numbers[len(numbers)-1].Sign() == 0 {
		numbers = numbers[:len(numbers)-1]
	}
	return numbers
}

// smaller says whether a comes before b; a NULL version comes before and after none.
func smaller(a, b []*big.Int) bool {
	if a == nil || b == nil {
		return false
	}
	for i := range min(len(a), len(b)) {
		if c := a[i].Cmp(b[i]); c != 0 {
			return c < 0
		}
	}
	return len(a) < len(b)
}

// columns are those of one line of test_decoding; NULLs are missing.
type columns map[string]string

func (c columns) int(name string) int64 {
	n, _ := strconv.ParseInt(c[name], 10, 64)
	return n
}

func (c columns) ints(name string) (all []int64) {
	for part := range strings.SplitSeq(strings.Trim(c[name], "{}"), ",") {
		if n, err := strconv.ParseInt(part, 10, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}

func (c columns) time(name string) time.Time {
	t, _ := time.Parse("2006-01-02 15:04:05.999999-07", c[name])
	return t
}

// change is one line of test_decoding.
type change struct {
	table, op string
	cols      columns
	was       string // of a run: its status before, "": there was none
}

// parseChange reads `table s.t: OP: name[type]:value …`.
func parseChange(line string) (change, error) {
	rest, ok := strings.CutPrefix(line, "table ")
	if !ok {
		return change{}, fmt.Errorf("not a change: %q", line)
	}
	table, rest, _ := strings.Cut(rest, ": ")
	op, rest, _ := strings.Cut(rest, ":")
	c := change{table: strings.TrimPrefix(table, "rowrun."), op: op, cols: columns{}}
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimPrefix(rest, " ") {
		open := strings.IndexByte(rest, '[')
		end := strings.Index(rest, "]:")
		if open < 0 || end < open {
			return change{}, fmt.Errorf("no column at %q", rest)
		}
		name := strings.Trim(rest[:open], `"`)
		rest = rest[end+2:]
		if !strings.HasPrefix(rest, "'") {
			var value string
			value, rest, _ = strings.Cut(rest, " ")
			rest = " " + rest
			if value != "null" {
				c.cols[name] = value
			}
			if rest == " " {
				break
			}
			continue
		}
		var value strings.Builder
		i := 1
		for ; i < len(rest); i++ {
			if rest[i] == '\'' {
				if i+1 >= len(rest) || rest[i+1] != '\'' {
					break
				}
				i++
			}
			value.WriteByte(rest[i])
		}
		c.cols[name] = value.String()
		rest = rest[min(i+1, len(rest)):]
	}
	return c, nil
}

// list reads an array of plain words; nil: none.
func (c columns) list(name string) []string {
	text, some := c[name]
	if !some {
		return nil
	}
	return strings.Split(strings.Trim(text, "{}"), ",")
}

func (c columns) plan() *planRow {
	return &planRow{id: c.int("id"), limit: int(c.int("parallel_limit")), onFailure: c["on_failure"], paused: c["paused"] == "true"}
}

func (c columns) task() *taskRow {
	return &taskRow{
		id: c.int("id"), plan: c.int("plan_id"), db: c["database_id"], version: parseVersion(c["version"]),
		paused: c["paused"] == "true", skipped: c["skipped"] == "true",
	}
}

func (c columns) run() *runRow {
	return &runRow{
		id: c.int("id"), task: c.int("task_id"), plan: c.int("plan_id"), db: c["database_id"], status: c["status"], kind: c["type"],
		version: parseVersion(c["version"]), sequential: c["sequential"] == "true", priority: c.int("priority"),
		runAt: c.time("run_at"), availableAt: c.time("available_at"), startedAt: c.time("started_at"),
		root: c.int("root_id"), after: c.ints("after"),
		limits: c.list("limit_keys"),
	}
}
