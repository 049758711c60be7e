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
		claim  = "store/sql/claim_runs.sql"
		finish = "migrations/code/workers/finish_runs.sql"
	)
	return []mutant{
		{"end: claim not compared", parts, "AND (i.claim IS NULL OR r.claim_hash = sha256(uuid_send(i.claim)))", ""},
		{"end: status not compared", parts, "WHERE r.id = i.id AND coalesce(r.status, '') = 'RUNNING'", "WHERE r.id = i.id"},
		{"successor not inserted", parts, "WHERE r.retry_run_id = ANY (successors)", "WHERE r.retry_run_id = ANY (successors) AND r.recoveries > 0"},
		{"cancel that was asked for forgotten at the end", parts, "i.status = 'FAILED' AND x.cancel_requested_at IS NULL AND NOT k.skipped", "i.status = 'FAILED' AND NOT k.skipped"},
		{"dead replica: no successor", parts, "i.retry = 'STALE' AND k.on_stale = 'RETRY'", "i.retry = 'STALE' AND false"},
		{"gate: dependencies", closed, "r.plan_id IS NOT NULL AND EXISTS (SELECT FROM rowrun.unmet_dependency", "false AND EXISTS (SELECT FROM rowrun.unmet_dependency"},
		{"gate: smaller version PENDING", closed, "u.version_key < r.version_key AND u.status = 'PENDING'", "u.version_key < r.version_key AND u.status = 'PENDING' AND false"},
		{"gate: smaller version active", closed, "u.version_key < r.version_key AND u.status IN ('AVAILABLE', 'RUNNING')", "u.version_key < r.version_key AND u.status IN ('AVAILABLE', 'RUNNING') AND false"},
		{"gate: STOP_DATABASE", closed, "f.outcome IN ('FAILED', 'CANCELED') AND NOT f.skipped", "false"},
		{"gate: pause and skip of a task", closed, "CASE WHEN k.skipped THEN 'SKIPPED' WHEN k.paused THEN 'PAUSED' WHEN", "CASE WHEN"},
		{"gate: plan paused", room, "SELECT NOT p.paused AND NOT (p.on_failure", "SELECT NOT (p.on_failure"},
		{"gate: STOP", room, "p.on_failure = 'STOP' AND EXISTS", "false AND EXISTS"},
		{"gate: plan limit", room, "greatest(p.parallel_limit\n", "greatest(1000 + p.parallel_limit\n"},
		{"gate: plan limit among those judged together", judge, "WHEN c.plan_id IS NOT NULL AND k.n > k.slots THEN 'PLAN' END", "END"},
		{"gate: sequential waits for what is active", judge, "CASE WHEN c.sequential THEN d.active ELSE", "CASE WHEN c.sequential THEN false ELSE"},
		{"gate: others wait for a sequential one", judge, "ELSE d.active_sequential END", "ELSE false END"},
		{"the lock of the passes", pass, "IF NOT FOUND THEN\n        busy := true;", "IF false THEN\n        busy := true;"},
		{"marks are not looked for", "migrations/code/promote/promote_runs.sql", "IF NOT (sweep OR marked OR due) THEN", "IF NOT due THEN"},
		{"limit: places not counted", limits, "ELSE l.max_running - (SELECT count(*)", "ELSE l.max_running - (SELECT 0 * count(*)"},
		{"limit: not compared among those judged together", limits, "ELSE w.nth > m.places END AS taken", "ELSE m.places <= 0 END AS taken"},
		{"event: round announced again", events, "UPDATE plan SET announced_round = p.round WHERE id = p.id;", ""},
		{"event: no message in the transaction", events, "outbox := address_event(wanted, what, p.id, p.round, said.standard) OR outbox;", "NULL;"},
		{"event: completed with runs unfinished", event, "WHEN (SELECT o.id FROM rowrun.task o", "WHEN (SELECT NULL::bigint FROM rowrun.task o"},
		{"event: completed while paused", event, "        WHEN p.paused THEN NULL\n", ""},
		{"event: failed forgotten", event, "f.outcome_round = p.round AND f.outcome = 'FAILED' AND NOT f.skipped", "false"},
		{"plans not locked at ends", parts, "ORDER BY p.id FOR NO KEY UPDATE) p;", "ORDER BY p.id) p;"},
		{"claim: status under the lock", claim, "AND coalesce(r.status, '') = 'AVAILABLE'\n", "\n"},
		{"claim: no row lock", claim, "    FOR NO KEY UPDATE SKIP LOCKED\n", ""},
		{"claim: replica not asked", claim, "WHERE h.replica_id = $1 AND h.state = 'ACTIVE' AND EXISTS", "WHERE h.replica_id = $1 AND EXISTS"},
		{"claim at once: status not asked", "migrations/code/promote/make_running.sql", "WHERE r.id = ANY (run_ids) AND coalesce(r.status, '') = 'PENDING' AND", "WHERE r.id = ANY (run_ids) AND"},
		{"worker: claim drawn at random", "migrations/code/workers/claim_runs.sql", "worker_claim_of(take_for_worker.request_id, r.id) AS claim", "gen_random_uuid() AS claim"},
		{"worker: answer to results not remembered", finish, "IF NOT FOUND THEN\n        IF claim_next > 0", "IF true THEN\n        IF claim_next > 0"},
		{"worker: lease never over", "store/sql/overdue_runs.sql", "c.until", "'infinity'::timestamptz"},
		{"stale: lease not asked", "store/sql/declare_dead.sql", " AND last_heartbeat + lease < clock_timestamp()", ""},
		{"stale: nobody is found dead", "store/sql/dead_replicas.sql", "h.last_heartbeat + h.lease < clock_timestamp()", "false"},
		{"heartbeat of the dead", "store/sql/heartbeat.sql", "WHERE replica_id = $1 AND state <> 'DEAD'", "WHERE replica_id = $1"},
		{"schedule: ticks without a look at what waits", "migrations/code/schedules/schedule_sweep.sql", "WHERE k.active AND NOT EXISTS", "WHERE k.active AND true OR NOT EXISTS"},
		{"delivery: lease never over", "store/sql/claim_deliveries.sql", "AND (d.leased_until IS NULL OR d.leased_until <= now.t)", "AND d.leased_until IS NULL"},
	}
}

func inGo() []mutant {
	return []mutant{
		{"the fence", "scheduler/heartbeat.go", "if left <= 0 {\n\t\t\treturn errFenced", "if false {\n\t\t\treturn errFenced"},
		{"deadline of heartbeats", "scheduler/heartbeat.go", "trust := c.StaleAfter * 2 / 3", "trust := c.StaleAfter * 20"},
		{"stale: who lives is ended", "store/stale.go", "if lives {\n\t\t\treturn nil\n\t\t}", "_ = lives"},
		{"contact not broken by a failed heartbeat", "scheduler/heartbeat.go", "t.contact.Store(-1)\n", ""},
		{"migration: ledger's answer ignored", "scheduler/sqlexec/migrate.go", "if err != nil || found == nil {\n\t\treturn err == nil, err", "if true {\n\t\treturn err == nil, err"},
		{"migration: commit's answer is not looked up", "scheduler/sqlexec/migrate.go", "return found != nil && found.status == statusDone && found.run == g.key.run, err", "return true, err"},
	}
}
