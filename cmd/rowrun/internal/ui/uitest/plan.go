package uitest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// runPrefix and a task's id are the id of its newest run: beyond what a float64 tells apart.
const runPrefix = "90071992547"

const letters = "-PARDSFC"

// plan is a made-up one: columns as the API has them.
type plan struct {
	id, name            string
	databases, versions []string
	types               []string
	ids, names          []string
	kind, db, version   []int
	status              []byte
	took                []int64
	since               []int64
	cause               []any
	group               []int
	paused              []int
	under               []byte // where a task that is skipped would stand
	stopped             bool
	limit               any
	start               time.Time
	byID                map[string]int
	moved               []int // by task: the position of its last change
	position            int
}

var failures = [][2]string{ //nolint:gochecknoglobals // texts
	{"55P03", `canceling statement due to lock timeout: ALTER TABLE "…" ADD COLUMN "…"`},
	{"23505", `could not create unique index "…": key (…) is duplicated`},
	{"08006", "connection to the target was lost: server closed the connection unexpectedly"},
	{"42P01", `relation "…" does not exist`},
}

func makePlans(start time.Time, hostile bool) []*plan {
	random := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // the same each time
	schema := newPlan("7", "2026.11 schema rollout", start.Add(-41*time.Minute), names("orders-%s", 36), numbered(14, 12))
	schema.fill(random, schemaStatus)
	schema.add("tell the status page", 1, -1, -1, 'P', 0)
	schema.add("refresh the replicas' caches", 1, -1, -1, '-', 0)
	schema.limit = 12
	big := newPlan("8", "tenant indexes, all regions", start.Add(-3*time.Hour), names("tenant-%s", 250), numbered(40, 30))
	big.fill(random, tenantStatus)
	small := newPlan("9", "newsletter", start.Add(-26*time.Hour), nil, nil)
	for i, name := range []string{"collect addresses", "render", "check links", "send to staff", "send to all", "archive"} {
		small.add(name, 1, -1, -1, 'D', int64(900+i*700))
	}
	done := newPlan("6", "2026.10 schema rollout", start.Add(-15*24*time.Hour), names("orders-%s", 36), numbered(9, 3))
	done.fill(random, func(int, int) byte { return 'D' })
	halted := newPlan("5", "drop legacy columns", start.Add(-2*24*time.Hour), names("orders-%s", 12), []string{"9.1", "9.2"})
	halted.fill(random, func(d, v int) byte { return "DP"[min(1, v+d/7)] })
	halted.stopped = true
	plans := []*plan{big, schema, small, halted, done}
	if hostile {
		plans = append(plans, hostilePlan(start))
	}
	return plans
}

// schemaStatus is where a task of the first rollout stands: four databases have failed, each at a version of its own.
func schemaStatus(d, v int) byte {
	failed := map[int]int{3: 7, 17: 9, 22: 6, 29: 9}
	at, bad := failed[d]
	front := 9 + (d*5)%4
	switch {
	case bad && v == at:
		return 'F'
	case bad && v > at:
		return 'P'
	case d == 11 && v == 5:
		return 'S'
	case d == 31 && v == 8:
		return 'C'
	case v < front, d < 5 && v < 12:
		return 'D'
	case v == front && d%3 < 2:
		return "RA"[d%3]
	case d > 32:
		return '-'
	}
	return 'P'
}

// tenantStatus is the same of the large one.
func tenantStatus(d, v int) byte {
	front := 12 + (d*7+d*d%11)%17
	bad := (d*13+7)%61 == 0
	switch {
	case bad && v == front-4:
		return 'F'
	case bad && v > front-4, v > front+1:
		return "-P"[min(1, d%5)]
	case v < front:
		return 'D'
	case v == front:
		return "RA"[d%2]
	}
	return 'P'
}

// hostilePlan has what somebody who means harm would write.
func hostilePlan(start time.Time) *plan {
	databases := []string{
		`<img src=x onerror="document.title='owned'">`, "\u202eright to left\u202c", "مرحبا بالعالم", strings.Repeat("long", 2500),
		`"><script>document.title='owned'</script>`, "\ufffd\u0001\u0000bad", "${document.title='owned'}", "javascript:document.title='owned'",
	}
	p := newPlan("66", `</title><script>document.title='owned'</script>`, start, databases, []string{"1", "1.10"})
	p.fill(rand.New(rand.NewPCG(1, 1)), func(d, _ int) byte { return "FPDR"[d%4] }) //nolint:gosec // the same each time
	for i := range p.names {
		p.names[i] = databases[(i+3)%len(databases)]
	}
	return p
}

func names(format string, n int) []string {
	regions := []string{"eu", "us", "ap", "sa", "uk", "de", "fr", "jp"}
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, fmt.Sprintf("%s-%02d", regions[i%len(regions)], i/len(regions)+1))
	}
	return list
}

// numbered are n versions, the first of them 4.from.
func numbered(n, from int) []string {
	list := make([]string, n)
	for i := range list {
		major, minor := 4, from+i
		if i > n*2/3 {
			major, minor = 5, i-n*2/3-1
		}
		list[i] = fmt.Sprintf("%d.%d", major, minor)
	}
	return list
}

func newPlan(id, name string, start time.Time, databases, versions []string) *plan {
	return &plan{id: id, name: name, databases: databases, versions: versions, types: []string{"DATABASE_MIGRATE", "HTTP", "NOOP"}, start: start, byID: map[string]int{}}
}

func (p *plan) add(name string, kind, d, v int, status byte, took int64) {
	i := len(p.ids)
	id := fmt.Sprintf("%s%05d", p.id, i+1)
	p.byID[id] = i
	p.ids, p.names, p.kind = append(p.ids, id), append(p.names, name), append(p.kind, kind)
	p.db, p.version, p.status = append(p.db, d), append(p.version, v), append(p.status, status)
	p.took, p.paused, p.moved, p.under = append(p.took, took), append(p.paused, 0), append(p.moved, 0), append(p.under, '-')
	p.since = append(p.since, p.start.Add(time.Duration(i)*900*time.Millisecond).UnixMilli())
	var cause any
	group := -1
	switch status {
	case 'P':
		cause = []string{"DATABASE", "PLAN_FAILED", "PLAN", "DEPENDENCY", "NO_REPLICA"}[min(i%7, 2)]
		if d < 0 {
			cause = "DEPENDENCY"
		}
	case 'F':
		group = i % len(failures)
	}
	p.cause, p.group = append(p.cause, cause), append(p.group, group)
}

func (p *plan) fill(random *rand.Rand, of func(d, v int) byte) {
	work := []string{"add column %s.note", "create index on %s", "backfill %s.region", "validate %s constraint", "drop old trigger of %s"}
	tables := []string{"invoice", "customer", "shipment", "ledger", "cart"}
	for v := range p.versions {
		for d := range p.databases {
			name := fmt.Sprintf(work[v%len(work)], tables[v%len(tables)])
			p.add(name, 0, d, v, of(d, v), int64(180+random.IntN(9000)*(1+v%3)))
		}
	}
}

func (p *plan) counts() map[string]int {
	counts := map[string]int{}
	for i, word := range []string{"NOT_STARTED", "PENDING", "AVAILABLE", "RUNNING", "DONE", "SKIPPED", "FAILED", "CANCELED"} {
		counts[word] = strings.Count(string(p.status), letters[i:i+1])
	}
	return counts
}

func (p *plan) word() string {
	counts := p.counts()
	for _, word := range []string{"FAILED", "RUNNING", "AVAILABLE", "PENDING", "CANCELED"} {
		if counts[word] > 0 {
			return word
		}
	}
	if counts["NOT_STARTED"] > 0 || len(p.ids) == 0 {
		return "NOT_STARTED"
	}
	return "DONE"
}

// act is one on the whole plan, change one on a task.
func (p *plan) act(act string) {
	for i := range p.ids {
		switch {
		case act == "retry" && (p.status[i] == 'F' || p.status[i] == 'C'), act == "run" && p.status[i] == '-':
			p.change(i, "run")
		case act == "cancel" && strings.IndexByte("PAR", p.status[i]) >= 0:
			p.change(i, act)
		}
	}
	p.stopped = act == "pause" || p.stopped && act != "resume"
}

func (p *plan) change(i int, act string) {
	p.touch(i)
	switch {
	case act == "skip" && p.status[i] != 'S':
		p.under[i], p.status[i] = p.status[i], 'S'
	case act == "unskip" && p.status[i] == 'S':
		p.status[i] = p.under[i]
	}
	to := map[string]byte{"run": 'R', "retry": 'R', "cancel": 'C'}[act]
	if to != 0 {
		p.status[i], p.cause[i], p.group[i] = to, nil, -1
		p.since[i] = time.Now().UnixMilli()
	}
	if act == "pause" || act == "resume" {
		p.paused[i] = map[string]int{"pause": 1}[act]
	}
}

// touch notes that a task changed, for grid?since=.
func (p *plan) touch(i int) {
	p.position++
	p.moved[i] = p.position
}

func (s *Server) plan(id string) *plan {
	for _, p := range s.plans {
		if p.id == id {
			return p
		}
	}
	return nil
}

func (s *Server) taskOf(id string) (p *plan, i int) {
	for _, p := range s.plans {
		if i, ok := p.byID[id]; ok {
			return p, i
		}
	}
	return nil, 0
}

func (s *Server) summary(p *plan) object {
	counts := p.counts()
	var ended any
	if p.word() == "DONE" {
		ended = p.start.Add(52 * time.Minute)
	}
	return object{
		"id": p.id, "project": "shop", "name": p.name, "status": p.word(), "paused": p.stopped, "on_failure": "STOP_DATABASE", "round": 1,
		"max_parallel": p.limit, "tasks": len(p.ids), "counts": counts, "attention": counts["FAILED"] + counts["CANCELED"],
		"created_at": p.start.Add(-time.Minute), "started_at": p.start, "ended_at": ended,
	}
}

func (s *Server) planList(r *http.Request) any {
	items := []object{}
	q, status := strings.ToLower(r.URL.Query().Get("q")), r.URL.Query().Get("status")
	for _, p := range s.plans {
		if strings.Contains(strings.ToLower(p.name), q) && (status == "" || status == p.word()) {
			items = append(items, s.summary(p))
		}
	}
	return object{"items": items, "next": nil}
}

func (s *Server) planDetails(id string) any {
	p := s.plan(id)
	if p == nil {
		return nil
	}
	o := s.summary(p)
	o["webhooks"], o["announcement"], o["waves"] = []any{}, nil, s.waves(p)
	o["throughput_per_minute"], o["eta"] = 11.4, nil
	if o["ended_at"] == nil {
		o["eta"] = s.start.Add(19 * time.Minute)
	}
	o["may"] = object{"author": true, "operator": true}
	return o
}
