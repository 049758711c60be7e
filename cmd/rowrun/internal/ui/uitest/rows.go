package uitest

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

var word = map[byte]string{'-': "NOT_STARTED", 'P': "PENDING", 'A': "AVAILABLE", 'R': "RUNNING", 'D': "DONE", 'S': "SKIPPED", 'F': "FAILED", 'C': "CANCELED"} //nolint:gochecknoglobals // a table

func (s *Server) edges(id, task string) any {
	p := s.plan(id)
	if p == nil {
		return nil
	}
	i, ok := p.byID[task]
	from, to := []string{}, []string{}
	if ok {
		for _, j := range p.before(i) {
			from, to = append(from, task), append(to, p.ids[j])
		}
		for _, j := range p.after(i) {
			from, to = append(from, p.ids[j]), append(to, task)
		}
	}
	return object{"task": from, "depends_on": to, "capped": false}
}

// before and after: each version depends on that before it, and on the next database's.
func (p *plan) before(i int) []int {
	width := len(p.databases)
	if p.db[i] < 0 || i < width {
		return nil
	}
	list := []int{i - width}
	if p.db[i]+1 < width {
		list = append(list, i-width+1)
	}
	return list
}

func (p *plan) after(i int) []int {
	width := len(p.databases)
	if p.db[i] < 0 || i+width >= len(p.versions)*width {
		return nil
	}
	return []int{i + width}
}

func (s *Server) transitions(id string) any {
	p := s.plan(id)
	if p == nil {
		return nil
	}
	o := object{"next": nil}
	var runs, tasks, status []string
	var attempt []int
	var created, available, started, ended []any
	begin := p.start.UnixMilli()
	for i := range p.ids {
		if p.status[i] == '-' || p.status[i] == 'S' {
			continue
		}
		at := begin + int64(i/len(slices.Concat(p.databases, []string{""})))*110_000 + int64(i%37)*1900
		runs, tasks, status, attempt = append(runs, runPrefix+p.ids[i]), append(tasks, p.ids[i]), append(status, string(p.status[i])), append(attempt, 0)
		created = append(created, begin)
		moment := func(list []any, of string, more int64) []any {
			if strings.IndexByte(of, p.status[i]) < 0 {
				return append(list, nil)
			}
			return append(list, at+more)
		}
		available = moment(available, "ARDFC", 0)
		started = moment(started, "RDFC", 800)
		ended = moment(ended, "DFC", 800+p.took[i])
	}
	o["run_id"], o["task_id"], o["status"], o["attempt"] = runs, tasks, status, attempt
	o["created"], o["available"], o["started"], o["ended"] = created, available, started, ended
	return o
}

func (s *Server) preview(id string) any {
	p := s.plan(id)
	if p == nil {
		return nil
	}
	of := func(words string) object {
		sample := []object{}
		count := 0
		for i := range p.ids {
			if strings.IndexByte(words, p.status[i]) < 0 {
				continue
			}
			if count++; count <= 20 {
				sample = append(sample, object{"id": p.ids[i], "name": p.names[i], "database_id": p.database(i), "version": p.versionOf(i), "status": word[p.status[i]]})
			}
		}
		return object{"count": count, "sample": sample}
	}
	return object{"run": of("-"), "retry": of("FC"), "cancel": of("PAR")}
}

func (p *plan) database(i int) any {
	if p.db[i] < 0 {
		return nil
	}
	return p.databases[p.db[i]]
}

func (p *plan) versionOf(i int) any {
	if p.version[i] < 0 {
		return nil
	}
	return p.versions[p.version[i]]
}

func (s *Server) run(p *plan, i int) object {
	status := word[p.status[i]]
	at := time.UnixMilli(p.since[i]).UTC()
	o := object{
		"id": runPrefix + p.ids[i], "root_id": runPrefix + p.ids[i], "attempt": 0, "retry_of": nil, "retry_run_id": nil, "task_id": p.ids[i], "task": p.names[i],
		"type": p.types[p.kind[i]], "plan_id": p.id, "plan": p.name, "queue": "default", "database_id": p.database(i), "version": p.versionOf(i), "status": status,
		"priority": 0, "run_at": p.start, "created_at": p.start, "available_at": nil, "started_at": nil, "ended_at": nil, "replica_id": nil, "code": nil, "detail": nil,
		"progress": nil, "cancel_requested": false, "cause": p.cause[i],
	}
	if strings.IndexByte("ARDFC", p.status[i]) >= 0 {
		o["available_at"] = at
	}
	if strings.IndexByte("RDFC", p.status[i]) >= 0 {
		o["started_at"], o["replica_id"] = at.Add(1400*time.Microsecond), "rowrun-1@3f21c8"
	}
	if strings.IndexByte("DFC", p.status[i]) >= 0 {
		o["ended_at"] = at.Add(time.Duration(p.took[i]) * time.Millisecond)
	}
	switch p.status[i] {
	case 'F':
		failure := failures[p.group[i]]
		o["code"], o["detail"] = failure[0], strings.ReplaceAll(failure[1], "…", "invoice_2026")
	case 'C':
		o["code"], o["detail"] = "CANCELED", "canceled by ana: wrong window"
	case 'R':
		o["progress"] = object{"done": 41, "total": 120, "message": "backfilled 410,000 of 1,200,000 rows"}
	}
	if s.options.HideData {
		o["detail"], o["progress"] = nil, nil
	}
	return o
}

func (s *Server) runList(r *http.Request) any {
	query := r.URL.Query()
	after, _ := strconv.Atoi(query.Get("cursor"))
	items := []object{}
	at := 0
	for _, p := range s.plans {
		for i := len(p.ids) - 1; i >= 0; i-- {
			if p.status[i] == '-' || p.status[i] == 'S' {
				continue
			}
			run := s.run(p, i)
			if !wanted(run, query.Get("status"), query.Get("database"), query.Get("text"), query.Get("failed"), query.Get("plan")) {
				continue
			}
			at++
			if at <= after {
				continue
			}
			if len(items) == 50 {
				return object{"items": items, "next": strconv.Itoa(at - 1)}
			}
			items = append(items, run)
		}
	}
	return object{"items": items, "next": nil}
}

func wanted(run object, status, database, text, failed, plan string) bool {
	if status != "" && !slices.Contains(strings.Split(status, ","), run["status"].(string)) || failed != "" && run["status"] != "FAILED" {
		return false
	}
	if plan != "" && run["plan_id"] != plan {
		return false
	}
	return (database == "" || run["database_id"] == database) && (text == "" || strings.Contains(fmt.Sprint(run["detail"], run["code"]), text))
}

func (s *Server) runDetails(id string) any {
	p, i := s.taskOf(strings.TrimPrefix(id, runPrefix))
	if p == nil {
		return nil
	}
	o := s.run(p, i)
	chain := []object{s.run(p, i)}
	if p.status[i] == 'F' {
		first := s.run(p, i)
		first["id"] = "90071992546" + p.ids[i]
		chain[0]["attempt"], o["attempt"] = 1, 1
		o["retry_of"] = first["id"]
		chain = []object{first, chain[0]}
	}
	waiting := []object{}
	if p.status[i] == 'P' && p.db[i] >= 0 {
		before := runPrefix + p.ids[max(0, i-len(p.databases))]
		waiting = append(waiting, object{"cause": "VERSION", "message": fmt.Sprintf("version %v waits for run %s on %v", p.versionOf(i), before, p.database(i)), "detail": object{"run_id": before, "database_id": p.database(i)}})
		if i%3 == 0 {
			waiting = append(waiting, object{"cause": "PLAN_LIMIT", "message": "the plan runs 12 at once, as many as it may", "detail": object{"plan_id": p.id, "parallel_limit": 12, "run_ids": []string{before}}})
		}
	}
	phase := func(name string, at, to, cause, run any, maybe ...string) object {
		return object{"phase": name, "at": at, "to": to, "cause": cause, "run_id": run, "maybe": append([]string{}, maybe...)}
	}
	timeline := []object{phase("PENDING", o["created_at"], o["available_at"], p.cause[i], nil)}
	if available, ok := o["available_at"].(time.Time); ok {
		part := available.Sub(o["created_at"].(time.Time)) / 3
		first, second := available.Add(-2*part), available.Add(-part)
		timeline = []object{
			phase("PENDING", o["created_at"], first, "VERSION", runPrefix+p.ids[max(i-1, 0)]), phase("PENDING", first, second, nil, nil, "PLAN_LIMIT", "PAUSED"),
			phase("PENDING", second, available, "DEPENDENCY", nil), phase("AVAILABLE", o["available_at"], o["started_at"], nil, nil, "CAPACITY", "NO_REPLICA", "PAUSED"),
		}
	}
	if o["started_at"] != nil {
		timeline = append(timeline, phase("RUNNING", o["started_at"], o["ended_at"], nil, nil))
	}
	for key, value := range (object{
		"idempotency_key": nil, "limits": []string{}, "after": []string{}, "creator": "app", "deadline": s.start.Add(time.Hour), "cancel_requested_at": nil, "cancel_reason": nil, "progress_at": nil, "chain": chain, "waiting": waiting,
		"gates": s.gates(p, i), "timeline": timeline, "hidden": s.options.HideData,
		"payload": object{"sql": fmt.Sprintf("ALTER TABLE invoice ADD COLUMN note text; -- %s", p.names[i]), "transaction": true}, "input": object{"batch": 5000, "dry_run": false, "tags": []string{"nightly", "eu"}},
		"result": object{"rows": 410233, "statements": []object{{"text": "ALTER TABLE", "ms": 12.5}, {"text": "CREATE INDEX", "ms": 8123.25}}},
		"log":    object{"items": s.log(p, i), "next": nil}, "sql": "SELECT rowrun.run_task(" + p.ids[i] + ");", "command": "rowrun run create --task " + p.ids[i],
		"may": object{"retry": s.mayAct() && strings.IndexByte("FC", p.status[i]) >= 0, "cancel": s.mayAct() && strings.IndexByte("PAR", p.status[i]) >= 0, "abandon": s.mayAct() && p.status[i] == 'R'},
	}) {
		o[key] = value
	}
	return o
}

func (s *Server) gates(p *plan, i int) []object {
	waits := p.status[i] == 'P'
	return []object{
		{"gate": "RUN_AT", "term": "run_at <= now()", "matched": true, "message": "due since " + p.start.Format(time.RFC3339)},
		{"gate": "VERSION", "term": fmt.Sprintf("no smaller version than %v unfinished on %v", p.versionOf(i), p.database(i)), "matched": !waits, "message": "run " + runPrefix + p.ids[max(0, i-36)]},
		{"gate": "DATABASE_BUSY", "term": "alone on its database", "matched": true, "message": ""},
		{"gate": "PLAN_LIMIT", "term": "AVAILABLE + RUNNING < 12", "matched": i%3 != 0 || !waits, "message": "12 of 12"},
		{"gate": "DEPENDENCY", "term": "2 tasks DONE or SKIPPED", "matched": true, "message": ""},
		{"gate": "PAUSED", "term": "neither plan nor task is paused", "matched": true, "message": ""},
		{"gate": "NO_REPLICA", "term": "a live replica takes DATABASE_MIGRATE", "matched": nil, "message": "asked last"},
	}
}

func (s *Server) log(p *plan, i int) []object {
	items := []object{}
	if strings.IndexByte("RDFC", p.status[i]) < 0 || s.options.HideData {
		return items
	}
	at := time.UnixMilli(p.since[i]).UTC()
	for n, text := range []string{"connected to the target", "lock on invoice taken after 12 ms", "ALTER TABLE done", "backfill: 100,000 rows", "backfill: 200,000 rows", "backfill: 300,000 rows", "backfill: 410,000 rows"} {
		items = append(items, object{"id": strconv.Itoa(n + 1), "at": at.Add(time.Duration(n*713) * time.Millisecond), "replica_id": "rowrun-1@3f21c8", "type": "info", "detail": object{"message": text}})
	}
	return items
}

func (s *Server) history() object {
	var at []int64
	var started, done, failed, canceled []int
	var latency []any
	for n := range 360 {
		at = append(at, s.start.Add(time.Duration(n-360)*10*time.Second).UnixMilli())
		wave := 60 + 34*math.Sin(float64(n)/21) + 9*math.Sin(float64(n)/3.1)
		done, started = append(done, int(wave)), append(started, int(wave)+1)
		failed, canceled = append(failed, max(0, n%53-49)), append(canceled, 0)
		latency = append(latency, 1.2+0.4*math.Sin(float64(n)/17)+float64(n%7)/20)
	}
	return object{"step_seconds": 10, "at": at, "started": started, "done": done, "failed": failed, "canceled": canceled, "inserted": []int{}, "start_latency_p50_ms": latency, "source": "deployment"}
}
