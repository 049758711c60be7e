package uitest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func bounded(n int) object { return object{"n": strconv.Itoa(n), "at_least": n >= 10000} }

func (s *Server) some(status byte, n int) []object {
	runs := []object{}
	for _, p := range s.plans {
		for i := range p.ids {
			if p.status[i] == status && len(runs) < n {
				runs = append(runs, s.run(p, i))
			}
		}
	}
	return runs
}

func (s *Server) overview() any {
	counts := map[byte]int{}
	for _, p := range s.plans {
		for _, status := range p.status {
			counts[status]++
		}
	}
	return object{
		"now": time.Now().UTC(), "replicas": s.replicas(),
		"counts":                   object{"PENDING": bounded(counts['P']), "AVAILABLE": bounded(counts['A']), "RUNNING": bounded(counts['R']), "FAILED": bounded(counts['F'])},
		"oldest_available_seconds": 4.2, "overdue": bounded(3), "overdue_seconds": 61, "orphans": "0", "orphan_types": 0, "stale": 0,
		"deliveries_failing": []object{{"reason": "refused", "oldest_seconds": 733}}, "deliveries_retrying": bounded(3), "notify_queue": 0.0,
		"queues":    []object{{"queue": "default", "available": bounded(counts['A']), "oldest_seconds": 4.2}, {"queue": "mail", "available": bounded(12), "oldest_seconds": 0.4}, {"queue": "reports", "available": bounded(1), "oldest_seconds": 0.1}},
		"schedules": s.schedules(), "running_longest": s.some('R', 6), "failed_last": s.some('F', 6), "recovery": s.recovery(), "doctor": s.findings(), "history": s.history(),
	}
}

func (s *Server) recovery() any {
	if !s.options.Recovery {
		return nil
	}
	now := time.Now().UTC()
	return object{
		"id": "3", "began_at": now.Add(-20 * time.Second), "backlog": bounded(4312), "remaining": bounded(1800), "rate": 125.5,
		"estimated_end": now.Add(150 * time.Second),
	}
}

func (s *Server) findings() []object {
	return []object{
		{"check": "target orders-sa-03", "severity": "error", "message": "the role migrator may not create tables in schema public", "fix": "GRANT CREATE ON SCHEMA public TO migrator;"},
		{"check": "webhook ops", "severity": "warn", "message": "3 deliveries were refused with 403 since 12 minutes", "fix": "rowrun webhook test ops"},
		{"check": "clock", "severity": "ok", "message": "2 ms apart", "fix": nil},
	}
}

func (s *Server) schedules() []object {
	list := []object{}
	for i, row := range [][2]string{{"nightly report", "0 3 * * *"}, {"refresh the search index", "*/5 * * * *"}, {"invoice run", "0 6 1 * *"}, {"vacuum large tables", "30 2 * * 0"}, {"sync exchange rates", "@every 90s"}} {
		list = append(list, object{
			"task_id": strconv.Itoa(100 + i), "name": row[0], "schedule": row[1], "time_zone": "Europe/Berlin", "misfire": "LATEST", "overlap": "SKIP", "starts_at": nil, "ends_at": nil, "paused": i == 3, "error": nil,
			"run_id": runPrefix + "700001", "run_status": "PENDING", "next_at": s.start.Add(time.Duration(i*i*47+3) * time.Minute),
			"last": object{"run_id": runPrefix + "700002", "status": []string{"DONE", "DONE", "FAILED", "DONE", "DONE"}[i], "ended_at": s.start.Add(-time.Duration(i*13+2) * time.Minute), "code": []any{nil, nil, "TIMEOUT", nil, nil}[i]},
		})
	}
	return list
}

func (s *Server) task(p *plan, i int) object {
	o := object{
		"id": p.ids[i], "plan_id": p.id, "plan": p.name, "name": p.names[i], "type": p.types[p.kind[i]], "queue": "default", "database_id": p.database(i), "version": p.versionOf(i), "sequential": p.kind[i] == 0,
		"priority": 0, "paused": p.paused[i] == 1, "skipped": p.status[i] == 'S', "skip_reason": nil, "created_at": p.start, "status": word[p.status[i]], "run_id": runPrefix + p.ids[i], "code": nil, "detail": nil, "schedule": nil,
	}
	if p.status[i] == 'S' {
		o["skip_reason"] = "applied by hand"
	}
	return o
}

func (s *Server) taskList(r *http.Request) any {
	items := []object{}
	q := r.URL.Query()
	for _, p := range s.plans {
		for i := range p.ids {
			if len(items) < 50 && strings.Contains(p.names[i], q.Get("q")) && (q.Get("status") == "" || q.Get("status") == word[p.status[i]]) {
				items = append(items, s.task(p, i))
			}
		}
	}
	return object{"items": items, "next": nil}
}

func (s *Server) taskDetails(id string) any {
	p, i := s.taskOf(id)
	if p == nil {
		return nil
	}
	o := s.task(p, i)
	of := func(list []int) []string {
		found := []string{}
		for _, j := range list {
			found = append(found, p.ids[j])
		}
		return found
	}
	runs := []object{}
	if p.status[i] != '-' && p.status[i] != 'S' {
		runs = append(runs, s.run(p, i))
	}
	is := func(words string) bool { return s.mayAct() && strings.IndexByte(words, p.status[i]) >= 0 }
	for key, value := range (object{
		"timeout_ms": 3600000, "progress_timeout_ms": nil, "max_attempts": 2, "retry_delay_ms": 10000, "on_stale": "RETRY", "retention_ms": nil, "depends_on": of(p.before(i)), "needed_by": of(p.after(i)),
		"payload": object{"sql": "ALTER TABLE invoice\n  ADD COLUMN note text;", "transaction": true}, "labels": object{"team": "billing"}, "hidden": s.options.HideData, "runs": runs, "sql": "SELECT rowrun.run_task(" + id + ");", "command": "rowrun run create --task " + id,
		"may": object{"run": is("-"), "retry": is("FC"), "cancel": is("PAR"), "skip": is("-PFC"), "unskip": is("S"), "pause": is("-PAR") && p.paused[i] == 0, "resume": is("-PAR") && p.paused[i] == 1},
	}) {
		o[key] = value
	}
	return o
}

func (s *Server) types() any {
	items := []object{}
	for i, name := range []string{"COMMAND", "DATABASE_MIGRATE", "HTTP", "NOOP", "SQL", "resize_image"} {
		items = append(items, object{
			"type": name, "replicas": []string{"2", "3", "3", "3", "3", "0"}[i], "tasks": bounded(40 * i), "pending": bounded(17 * i), "available": bounded(3 * i), "running": bounded(i), "orphans": []string{"0", "0", "0", "0", "0", "4"}[i],
			"draining": i == 4, "alias_of": nil,
		})
	}
	return object{"items": items}
}

func (s *Server) webhooks() []object {
	list := []object{}
	for i, name := range []string{"ops", "status page", "finance"} {
		list = append(list, object{
			"id": strconv.Itoa(i + 1), "project": "shop", "name": name, "url": []string{"https://hooks.example.com/rowrun", "env:STATUS_URL", "https://finance.example.com/in"}[i], "signed": i < 2, "events": []string{"PIPELINE_FAILED", "PIPELINE_COMPLETED"},
			"format": "standard", "enabled": i < 2, "created_at": s.start.Add(-900 * time.Hour), "pending": bounded(3 * (2 - i)), "oldest_pending": nil,
		})
	}
	return list
}

func (s *Server) deliveries() []object {
	list := []object{}
	for i := range 14 {
		var delivered, next, code, problem any
		status := []string{"DELIVERED", "DELIVERED", "PENDING", "DELIVERED", "EXHAUSTED", "DISABLED", "DELIVERED"}[i%7]
		at := s.start.Add(-time.Duration(i*i*19+4) * time.Minute)
		switch status {
		case "DELIVERED":
			delivered, code = at.Add(2*time.Second), 200
		case "PENDING":
			next, code, problem = s.start.Add(3*time.Minute), 403, "403 Forbidden"
		default:
			code, problem = 500, "500 Internal Server Error"
		}
		about := object{"event_type": []string{"PIPELINE_FAILED", "PIPELINE_COMPLETED"}[i%2], "plan_id": "7", "plan": "2026.11 schema rollout", "round": 1}
		switch i % 7 {
		case 3:
			about = object{"event_type": "RUN_FAILED", "run_id": "4242", "task_id": "31", "task": "nightly report", "type": "HTTP"}
		case 6:
			about = object{"event_type": "TYPE_ORPHANED", "type": "REPORT"}
		}
		list = append(list, object{
			"id": strconv.Itoa(900 - i), "webhook_id": "1", "plan_id": about["plan_id"], "plan": about["plan"], "round": about["round"],
			"run_id": about["run_id"], "task_id": about["task_id"], "task": about["task"], "type": about["type"], "event_type": about["event_type"], "message_id": fmt.Sprintf("msg_%020d", i*7919),
			"status": status, "attempts": 1 + i%4, "next_attempt_at": next, "response_code": code, "last_error": problem, "created_at": at, "delivered_at": delivered,
		})
	}
	return list
}

func (s *Server) delivery() any {
	o := s.deliveries()[2]
	o["body"] = `{"type":"PIPELINE_FAILED","timestamp":"2026-11-21T09:00:00Z","data":{"project":"shop","plan_id":7,"plan":"2026.11 schema rollout","round":1,"retry_count":0,"message":"Pipeline failed - Task add column invoice.note failed","failed_task_count":4}}`
	o["content_type"], o["hidden"], o["may"] = "application/json", false, object{"redeliver": s.mayAct()}
	return o
}

func (s *Server) replicas() []object {
	list := []object{}
	for i, name := range []string{"rowrun-0", "rowrun-1", "rowrun-2", "thumbs"} {
		var paused any
		if i == 2 {
			paused = s.start.Add(-9 * time.Minute)
		}
		o := object{
			"replica_id": fmt.Sprintf("%s@%06x", name, 4137419+i*7), "name": name, "hostname": name, "version": "v0.2.0", "state": "ACTIVE", "live": true, "worker": i == 3, "started_at": s.start.Add(-time.Duration(50+i) * time.Hour), "last_heartbeat": time.Now().UTC().Add(-time.Duration(i*2) * time.Second),
			"silent_ms": i * 2000, "lease_ms": 60000, "queues": []string{"default", "mail"}, "types": []string{"SQL", "HTTP", "DATABASE_MIGRATE", "NOOP"}, "databases": []string{"orders-eu-01", "orders-us-01"}, "commands": []string{}, "concurrency": 20,
			"running": []string{"14", "11", "0", "3"}[i], "stream": i == 0, "wake_source": []any{"wal", "wal", "listen", nil}[i], "paused_at": paused,
		}
		list = append(list, o)
	}
	return list
}
