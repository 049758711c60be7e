package chaos_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/integration/history"
)

// coverage counts, for each invariant, how often it had something to hold in a schedule with each fault.
type coverage struct {
	mu        sync.Mutex
	schedules int
	met       map[string]map[string]int
}

func (c *coverage) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d schedules passed", c.schedules)
	for _, name := range slices.Sorted(maps.Keys(c.met)) {
		fmt.Fprintf(&b, "\n%s:", name)
		for _, f := range slices.Sorted(maps.Keys(c.met[name])) {
			fmt.Fprintf(&b, " %s %d,", f, c.met[name][f])
		}
	}
	return b.String()
}

// verdicts collects what is wrong, by invariant, and which invariants had something to hold.
type judge struct {
	wrong []string
	held  map[string]int
}

func (j *judge) hold(invariant string, ok bool, format string, args ...any) {
	j.held[invariant]++
	if !ok {
		j.wrong = append(j.wrong, invariant+": "+fmt.Sprintf(format, args...))
	}
}

// past is what the slot saw of one run.
type past struct {
	task, root, retryOf, next int64
	kind, replica             string
	statuses, claims          []string
	tick, code                string
	attempt, recoveries       int64
}

func (p *past) last() string { return p.statuses[len(p.statuses)-1] }

func (r *rig) check(t *testing.T, seen *coverage) {
	t.Helper()
	require.NoError(t, r.past.Replay(t.Context()))
	j := &judge{held: map[string]int{}}
	for _, v := range r.past.Violations {
		j.hold("gates", false, "%s", v)
	}
	j.held["gates"] += r.past.Promotions
	j.held["announced once"] += r.past.Events()
	runs, told := r.runs(j)
	r.checkAnswers(t, j, runs)
	r.checkCalls(j, runs)
	r.checkOverlap(j, runs)
	r.checkDead(j)
	r.checkWorkers(j, runs)
	r.checkChains(j, runs)
	r.checkTarget(t, j)
	r.checkMessages(t, j)
	r.checkStream(j, told)

	if len(j.wrong) > 0 {
		if len(r.past.Violations) > 0 {
			t.Log(r.past.Trail())
		}
		require.FailNow(t, j.wrong[0], "%s", strings.Join(j.wrong[:min(len(j.wrong), 30)], "\n"))
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	seen.schedules++
	for name := range j.held {
		if seen.met[name] == nil {
			seen.met[name] = map[string]int{}
		}
		met := slices.Clone(r.met)
		slices.Sort(met)
		for _, f := range slices.Compact(met) {
			seen.met[name][f]++
		}
	}
	t.Logf("%d commits, %d runs, %d calls, held: %v", len(r.past.Commits), len(runs), len(r.ledger.calls), j.held)
}

// runs replays the slot, holds each moment to the limits, and returns the runs and the transitions in order.
func (r *rig) runs(j *judge) (runs map[int64]*past, told []string) {
	runs = map[int64]*past{}
	places := map[string]map[int64]bool{} // who has a place of a limit's key
	ticking := map[int64]int64{}          // by task, the run for a tick that is not over
	for _, commit := range r.past.Commits {
		r.checkOutbox(j, commit)
		for _, c := range commit.Changes {
			if c.Table != "task_run" {
				continue
			}
			id, p := c.Number("id"), runs[c.Number("id")]
			if p == nil {
				p = &past{
					task: c.Number("task_id"), root: c.Number("root_id"), retryOf: c.Number("retry_of"), kind: c.Columns["type"], attempt: c.Number("attempt"), tick: c.Columns["tick"],
					recoveries: c.Number("recoveries"),
				}
				runs[id] = p
			}
			p.next, p.code = c.Number("retry_run_id"), codeOf(c.Columns["result"])
			if c.Columns["replica_id"] != "" {
				p.replica = c.Columns["replica_id"]
			}
			if claim := strings.TrimPrefix(c.Columns["claim_hash"], `\x`); claim != "" && !slices.Contains(p.claims, claim) {
				p.claims = append(p.claims, claim)
			}
			to := c.Columns["status"]
			if to == "CANCELED" && len(p.statuses) > 0 && p.last() != to {
				j.hold("cancel", p.next == 0, "run %d was canceled, and run %d follows", id, p.next)
			}
			r.checkTicks(j, ticking, id, p, to)
			r.checkTime(j, p, c, commit.At)
			told = append(told, steps(id, p, to)...)
			for _, key := range strings.Split(strings.Trim(c.Columns["limit_keys"], "{}"), ",") {
				if key == "" {
					continue
				}
				if places[key] == nil {
					places[key] = map[int64]bool{}
				}
				delete(places[key], id)
				if to == "AVAILABLE" || to == "RUNNING" {
					places[key][id] = true
				}
			}
		}
		for key, holders := range places {
			limit, _, _ := strings.Cut(strings.Trim(key, `"`), ":")
			most, known := r.world.limits[limit]
			j.hold("limits", known, "%s is a key of no limit", key)
			j.hold("limits", len(holders) <= most, "%s: %d runs at %s, at most %d: %v", key, len(holders), commit.At, most, slices.Sorted(maps.Keys(holders)))
		}
	}
	whose := map[string]int64{}
	for id, p := range runs {
		j.hold("claimed once", len(p.claims) <= 1, "run %d had the claims %v", id, p.claims)
		for _, claim := range p.claims {
			other, shared := whose[claim]
			j.hold("claimed once", !shared, "runs %d and %d had the claim %s", id, other, claim)
			whose[claim] = id
		}
	}
	return runs, told
}

// checkTicks: of a task no run begins for a tick while another one is under way.
func (r *rig) checkTicks(j *judge, ticking map[int64]int64, id int64, p *past, to string) {
	switch over := to == "DONE" || to == "FAILED" || to == "CANCELED"; {
	case p.tick == "":
	case !over:
		j.hold("ticks", ticking[p.task] == 0 || ticking[p.task] == id, "run %d of task %d is for a tick, as run %d is, which isn't over", id, p.task, ticking[p.task])
		ticking[p.task] = id
	case ticking[p.task] == id:
		delete(ticking, p.task)
	}
}

// checkTime: nothing starts before its time, where the database's clock only goes on.
func (r *rig) checkTime(j *judge, p *past, run history.Change, at time.Time) {
	if len(p.statuses) > 0 && p.last() != "PENDING" || !slices.Contains([]string{"AVAILABLE", "RUNNING"}, run.Columns["status"]) || slices.Contains(r.met, "clock step") {
		return
	}
	due, err := run.Time("run_at")
	j.hold("gates", err == nil && !at.Before(due), "run %d was promoted at %s, its time is %s (%v)", run.Number("id"), at, due, err)
}

// steps are the transitions that a version of a row stands for: an INSERT may be AVAILABLE, a promotion a claim.
func steps(id int64, p *past, to string) (told []string) {
	from := "null"
	if len(p.statuses) > 0 {
		from = p.last()
	}
	if from == to {
		return nil
	}
	path := []string{to}
	switch {
	case from == "null" && to == "AVAILABLE":
		path = []string{"PENDING", to}
	case from == "PENDING" && to == "RUNNING":
		path = []string{"AVAILABLE", to}
	}
	for _, next := range path {
		told = append(told, fmt.Sprintf("%d %s %s", id, from, next))
		from = next
	}
	p.statuses = append(p.statuses, path...)
	return told
}

func codeOf(result string) string {
	_, after, _ := strings.Cut(result, `"code": "`)
	code, _, _ := strings.Cut(after, `"`)
	return code
}

// checkOutbox: who announces a plan writes in the same transaction what is to be sent.
func (r *rig) checkOutbox(j *judge, commit history.Commit) {
	for _, c := range commit.Changes {
		if c.Table != "webhook_delivery_log" || c.Op == "DELETE" {
			continue
		}
		written := slices.ContainsFunc(commit.Changes, func(d history.Change) bool {
			return d.Table == "webhook_delivery" && d.Op == "INSERT" && d.Number("plan_id") == c.Number("plan_id") && d.Columns["round"] == c.Columns["round"]
		})
		j.hold("outbox", written, "plan %d was announced (%s, round %s) without a message to send", c.Number("plan_id"), c.Columns["event_type"], c.Columns["round"])
	}
}

// checkAnswers: what clients were answered is so.
func (r *rig) checkAnswers(t *testing.T, j *judge, runs map[int64]*past) {
	there := map[int64]string{}
	for _, text := range list[string](t, r.pool, "SELECT id || ' ' || status FROM rowrun.task_run") {
		var id int64
		var status string
		_, _ = fmt.Sscan(text, &id, &status)
		there[id] = status
	}
	for _, id := range r.world.ids {
		j.hold("acknowledged", there[id] != "" && runs[id] != nil, "run %d was acknowledged and is not there", id)
	}
	for _, id := range r.world.undone {
		j.hold("rolled back", there[id] == "" && runs[id] == nil, "run %d was rolled back and is there", id)
	}
	for id, p := range runs {
		j.hold("history", there[id] == p.last(), "run %d is %q, and its history ends with %s", id, there[id], p.last())
	}
	// A cancel acts on the last run of the chain.
	chains := map[int64][]string{}
	for _, p := range runs {
		chains[p.root] = append(chains[p.root], p.last())
	}
	for id, said := range r.world.canceled {
		if strings.HasPrefix(said, "key") {
			j.hold("keys", false, "run %d: %s", id, said)
			continue
		}
		if runs[id] == nil {
			continue
		}
		ends := chains[runs[id].root]
		ok := slices.Contains(ends, said) || said == "RUNNING" && (slices.Contains(ends, "CANCELED") || slices.Contains(ends, "DONE"))
		j.hold("cancel", ok, "cancel of run %d was answered with %s, and its chain ended %v", id, said, ends)
	}
	for range r.world.keyed {
		j.held["keys"]++
	}
	for range r.world.refused {
		j.held["claim"]++
	}
	for _, id := range r.world.forged {
		j.hold("claim", false, "run %d was ended by a result whose claim nobody has", id)
	}
}

func hashOf(claim string) string {
	id, err := uuid.Parse(claim)
	if err != nil {
		return claim
	}
	sum := sha256.Sum256(id[:])
	return hex.EncodeToString(sum[:])
}

// checkCalls: a run is started at most once, by who has its claim, and DONE only if somebody did it.
func (r *rig) checkCalls(j *judge, runs map[int64]*past) {
	began, did := map[int64]int{}, map[int64]bool{}
	for _, c := range r.ledger.calls {
		p := runs[c.run]
		began[c.run]++
		did[c.run] = did[c.run] || c.status/100 == 2
		if p == nil {
			j.hold("started once", false, "run %d was executed and never was", c.run)
			continue
		}
		j.hold("started once", began[c.run] == 1, "run %d (%s) was executed %d times", c.run, p.kind, began[c.run])
		j.hold("claim", slices.Contains(p.claims, hashOf(c.claim)), "run %d was executed with a claim that it never had: %v", c.run, p.claims)
	}
	for id, p := range runs {
		if (p.kind == "HTTP" || p.kind == "EXT") && p.last() == "DONE" {
			j.hold("done", did[id], "run %d (%s) is DONE, and nobody did it", id, p.kind)
		}
		j.hold("ends", !slices.Contains([]string{"PENDING", "AVAILABLE", "RUNNING"}, p.last()), "run %d is %s", id, p.last())
	}
}

// mostRecoveries in a row: a run that is lost once more is not begun again.
const mostRecoveries = 5

// checkChains: a successor for each that says so, one for each run, one run for each tick.
func (r *rig) checkChains(j *judge, runs map[int64]*past) {
	ticks, after := map[string]int64{}, map[int64]int64{}
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		p := runs[id]
		if p.next != 0 {
			j.hold("chains", runs[p.next] != nil && runs[p.next].retryOf == id, "run %d has the successor %d, which is none", id, p.next)
		}
		if p.last() == "FAILED" && slices.Contains([]string{"STALE", "LOST_CONTACT"}, p.code) && slices.Contains(r.world.again, p.task) && p.recoveries < mostRecoveries {
			j.hold("chains", p.next != 0, "run %d was lost (%s), its task says RETRY, and nothing follows", id, p.code)
		}
		if p.retryOf != 0 {
			before := runs[p.retryOf]
			j.hold("chains", after[p.retryOf] == 0 && before != nil && before.attempt+1 == p.attempt && before.root == p.root && before.last() != "DONE",
				"run %d follows run %d, which run %d follows too, or which is no run to follow", id, p.retryOf, after[p.retryOf])
			after[p.retryOf] = id
		}
		if p.tick != "" && p.attempt == 0 && p.last() != "CANCELED" {
			key := fmt.Sprint(p.task, " ", p.tick)
			j.hold("ticks", ticks[key] == 0, "runs %d and %d stand for the tick %s", ticks[key], id, key)
			ticks[key] = id
		}
	}
}

// checkTarget: each migration took effect once.
func (r *rig) checkTarget(t *testing.T, j *judge) {
	done := list[string](t, r.pool, migrated)
	effects := map[string]int{}
	for _, what := range list[string](t, r.target, "SELECT what FROM effect") {
		effects[what]++
	}
	for _, version := range done {
		j.hold("migrations", effects[version] == 1, "migration %s is DONE, and took effect %d times", version, effects[version])
	}
	for version, n := range effects {
		j.hold("migrations", n == 1, "migration %s took effect %d times", version, n)
	}
}

// checkMessages: each message came, with the bytes of its row.
func (r *rig) checkMessages(t *testing.T, j *judge) {
	sent := map[string]string{}
	for _, text := range list[string](t, r.pool, "SELECT message_id || ' ' || payload FROM rowrun.webhook_delivery") {
		id, payload, _ := strings.Cut(text, " ")
		sent[id] = payload
		j.hold("delivered", len(r.ledger.bodies[id]) > 0, "message %s never came", id)
	}
	for id, bodies := range r.ledger.bodies {
		for _, body := range bodies {
			j.hold("delivered", sent[id] == body, "message %s is no row of the outbox, or another one", id)
		}
	}
}
