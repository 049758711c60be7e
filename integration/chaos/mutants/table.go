package main

// table is every guard that is taken out: those in SQL first.
func table() []mutant {
	return append(inSQL(), inGo()...)
}

func inSQL() []mutant {
	const (
		parts  = "migrations/code/end/parts.sql"
		closed = "migrations/code/gates/closed_gate.sql"
		room   = "migrations/code/gates/plan_room.sql"
		judge  = "migrations/code/promote/judge.sql"
		pass   = "migrations/code/promote/promote_runs.sql"
		event  = "migrations/code/plans/due_event.sql"
		events = "migrations/code/plans/announce_plans.sql"
		limits = "migrations/code/limits/limit_room.sql"
		claims = "store/sql/claim_run.sql store/sql/claim_runs.sql store/sql/claim_runs_after.sql store/sql/promote_and_claim.sql migrations/code/limits/claim_available.sql"
		finish = "migrations/code/workers/finish_runs.sql"
	)
	return []mutant{
		{"end: claim not compared", parts, "AND (i.claim IS NULL OR r.claim_hash = sha256(uuid_send(i.claim)))", "", ""},
		{"end: status not compared", parts, "WHERE r.id = i.id AND coalesce(r.status, '') = 'RUNNING'", "WHERE r.id = i.id", ""},
		{"successor not inserted", parts, "WHERE r.retry_run_id = ANY (successors)", "WHERE r.retry_run_id = ANY (successors) AND r.recoveries > 0", ""},
		{"successor counts no attempt", parts, "least(r.attempt, 2147483646) + 1, r.input", "r.attempt, r.input", ""},
		{"cancel that was asked for forgotten at the end", parts, "i.status = 'FAILED' AND x.cancel_requested_at IS NULL AND NOT k.skipped", "i.status = 'FAILED' AND NOT k.skipped", ""},
		{"dead replica: no successor", parts, "i.retry = 'STALE' AND k.on_stale = 'RETRY'", "i.retry = 'STALE' AND false", ""},
		{"gate: time", closed, "WHEN r.run_at > t THEN", "WHEN false THEN", ""},
		{"gate: dependencies", closed, "r.plan_id IS NOT NULL AND EXISTS (SELECT FROM rowrun.unmet_dependency", "false AND EXISTS (SELECT FROM rowrun.unmet_dependency", ""},
		{"gate: smaller version PENDING", closed, "u.version_key < r.version_key AND u.status = 'PENDING'", "u.version_key < r.version_key AND u.status = 'PENDING' AND false", ""},
		{"gate: smaller version active", closed, "u.version_key < r.version_key AND u.status IN ('AVAILABLE', 'RUNNING')", "u.version_key < r.version_key AND u.status IN ('AVAILABLE', 'RUNNING') AND false", ""},
		{"gate: STOP_DATABASE", closed, "f.outcome IN ('FAILED', 'CANCELED') AND NOT f.skipped", "false", ""},
		{"gate: pause and skip of a task", closed, "CASE WHEN k.skipped THEN 'SKIPPED' WHEN k.paused THEN 'PAUSED' WHEN", "CASE WHEN", ""},
		{"gate: plan paused", room, "SELECT NOT p.paused AND NOT (p.on_failure", "SELECT NOT (p.on_failure", ""},
		{"gate: STOP", room, "p.on_failure = 'STOP' AND EXISTS", "false AND EXISTS", ""},
		{"gate: plan limit", room, "greatest(p.parallel_limit\n", "greatest(1000 + p.parallel_limit\n", ""},
		{"gate: plan limit among those judged together", judge, "WHEN c.plan_id IS NOT NULL AND k.n > k.slots THEN 'PLAN' END", "END", ""},
		{"gate: sequential waits for what is active", judge, "CASE WHEN c.sequential THEN d.active ELSE", "CASE WHEN c.sequential THEN false ELSE", ""},
		{"gate: others wait for a sequential one", judge, "ELSE d.active_sequential END", "ELSE false END", ""},
		{"the lock of the passes", pass, "IF NOT FOUND THEN\n        busy := true;", "IF false THEN\n        busy := true;", ""},
		{"marks are not looked for", "migrations/code/promote/promote_runs.sql", "IF NOT (sweep OR marked OR due) THEN", "IF NOT due THEN", ""},
		{"limit: places not counted", limits, "ELSE l.max_running - (SELECT count(*)", "ELSE l.max_running - (SELECT 0 * count(*)", ""},
		{"limit: not compared among those judged together", limits, "ELSE w.nth > m.places END AS taken", "ELSE m.places <= 0 END AS taken", ""},
		{"event: round announced again", events, "UPDATE plan SET announced_round = p.round WHERE id = p.id;", "", ""},
		{"event: no message in the transaction", events, "outbox := address_event(wanted, what, p.id, p.round, said.standard) OR outbox;", "NULL;", ""},
		{"event: completed with runs unfinished", event, "WHEN (SELECT o.id FROM rowrun.task o", "WHEN (SELECT NULL::bigint FROM rowrun.task o", ""},
		{"event: completed while paused", event, "        WHEN p.paused THEN NULL\n", "", ""},
		{"event: failed forgotten", event, "f.outcome_round = p.round AND f.outcome = 'FAILED' AND NOT f.skipped", "false", ""},
		{"claim: replica not asked", claims, "AND h.state = 'ACTIVE'", "", "late"},
		{"claim: one for several runs", "migrations/code/limits/claim_available.sql", "FROM 32 * f.n - 31 FOR 32", "FROM 1 FOR 32", ""},
		{"worker: claim drawn at random", "migrations/code/workers/claim_runs.sql", "worker_claim_of(take_for_worker.request_id, r.id) AS claim", "gen_random_uuid() AS claim", ""},
		{"worker: answer to results not remembered", finish, "IF FOUND THEN\n        IF claim_next > 0", "IF true THEN\n        IF claim_next > 0", ""},
		{"worker: lease never over", "store/sql/overdue_runs.sql", "c.until", "'infinity'::timestamptz", ""},
		{"stale: before the lease is over", "store/sql/dead_replicas.sql store/sql/declare_dead.sql", "lease < clock_timestamp()", "lease / 20 < clock_timestamp()", ""},
		{"stale: nobody is found dead", "store/sql/dead_replicas.sql", "h.last_heartbeat + h.lease < clock_timestamp()", "false", ""},
		{"key not kept", "migrations/code/api/run_task.sql", "run_task.priority, run_task.idempotency_key, run_task.after)", "run_task.priority, NULL, run_task.after)", ""},
		{"delivery: lease never over", "store/sql/claim_deliveries.sql", "AND (d.leased_until IS NULL OR d.leased_until <= now.t)", "AND d.leased_until IS NULL", ""},
	}
}

func inGo() []mutant {
	return []mutant{
		{"the fence", "scheduler/heartbeat.go", "if left <= 0 {\n\t\t\treturn errFenced", "if false {\n\t\t\treturn errFenced", ""},
		{"app: a refusal counts as done", "scheduler/httpexec/answer.go", "a.status >= 200 && a.status < 300", "a.status >= 200", ""},
		{"webhook: a refusal counts as delivered", "notifier/webhook/webhook.go", "resp.StatusCode < 200 || resp.StatusCode > 299", "resp.StatusCode < 200", ""},
		{"migration: ledger's answer ignored", "scheduler/sqlexec/migrate.go", "if err != nil || found == nil {\n\t\treturn err == nil, err", "if true {\n\t\treturn err == nil, err", ""},
		{"migration: commit's answer is not looked up", "scheduler/sqlexec/migrate.go", "return found != nil && found.status == statusDone && found.run == g.key.run, err", "return found != nil || true, err", ""},
	}
}
