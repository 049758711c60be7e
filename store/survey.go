package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Survey is one look at everything that a sweep may find, so that an idle replica needs no other.
type Survey struct {
	// Work: a whole pass (PromoteSweep) may find something to promote, to claim or to announce.
	Work bool
	// NextDue is when the next PENDING run is due, 0: none is known.
	NextDue time.Duration
	// Owned are the RUNNING runs under the replica's name.
	Owned []int64
	// Overdue: EndOverdue would find a run, as far as nobody holds it.
	Overdue bool
	// Deliveries: a webhook delivery is due, or being tried.
	Deliveries bool
	// Notes: there is something that the stream has not said.
	Notes bool
	// Rules is another text whenever what ClaimRules reads is other.
	Rules string
	// NotifyQueue is how full the server's notification queue is, 0 to 1. Reading it also frees a queue that got stuck.
	NotifyQueue float64
	// HoldUps are sessions that hold locks which something of ours goes without; those that a second look still finds.
	HoldUps []HoldUp
}

// What makes a whole pass necessary is what promote_runs(true) and settle_plans look for. Each is asked for along its own
// index, in whose order, so that no statistics of a table that was empty once lead to another one.
const survey = `-- survey
WITH me AS MATERIALIZED (
    SELECT h.paused_at FROM rowrun.replica_heartbeat h WHERE h.replica_id = $1 AND h.state = 'ACTIVE'
), now AS MATERIALIZED (
    SELECT clock_timestamp() AS t
), due AS MATERIALIZED (
    SELECT least(
        (SELECT r.judge_at FROM rowrun.task_run r
         WHERE r.judge_at IS NOT NULL AND r.plan_id IS NULL AND r.database_id IS NULL ORDER BY r.judge_at LIMIT 1),
        (SELECT r.judge_at FROM rowrun.task_run r
         WHERE r.judge_at IS NOT NULL AND (r.plan_id IS NOT NULL OR r.database_id IS NOT NULL) ORDER BY r.judge_at LIMIT 1)) AS at
)
SELECT EXISTS (SELECT FROM me),
       due.at <= now.t IS TRUE
       OR (SELECT true FROM rowrun.gate_mark m ORDER BY m.id LIMIT 1) IS TRUE
       OR (SELECT true FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.hold = 'READY'
           ORDER BY r.plan_id, r.priority DESC, r.run_at, r.id LIMIT 1) IS TRUE
       OR (SELECT true FROM rowrun.task_run r WHERE r.status = 'PENDING' AND r.hold = 'DATABASE'
           ORDER BY r.database_id, r.version_key LIMIT 1) IS TRUE
       OR (SELECT true FROM unnest($2::text[]) q(queue) CROSS JOIN unnest($3::text[]) y(type)
           CROSS JOIN LATERAL (SELECT FROM rowrun.task_run r WHERE r.status = 'AVAILABLE' AND r.queue = q.queue AND r.type = y.type
                               ORDER BY r.priority DESC, r.run_at, r.id LIMIT 1) a LIMIT 1) IS TRUE
       OR (SELECT true FROM rowrun.plan p CROSS JOIN LATERAL rowrun.due_event(p) e
           WHERE p.id = ANY (ARRAY(SELECT q.id FROM rowrun.plan q WHERE q.announced_round < q.round
                                     AND q.id > (SELECT floor(random() * coalesce(max(x.id), 0)) FROM rowrun.plan x) ORDER BY q.id LIMIT 1000)
                             || ARRAY(SELECT q.id FROM rowrun.plan q WHERE q.announced_round < q.round ORDER BY q.id LIMIT 1000))
             AND e.event IS NOT NULL LIMIT 1) IS TRUE,
       (extract(epoch FROM due.at - now.t) * 1000)::float8,
       ARRAY(SELECT r.id FROM rowrun.task_run r WHERE r.status = 'RUNNING' AND r.replica_id = $1),
       (SELECT true FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
        WHERE r.status = 'RUNNING' AND r.replica_id IS NULL
          AND (r.deadline < now.t OR coalesce(r.progress_at, r.started_at) + k.progress_timeout < now.t) LIMIT 1) IS TRUE,
       (SELECT true FROM rowrun.webhook_delivery d WHERE d.status = 'PENDING' AND d.next_attempt_at <= now.t
        ORDER BY d.next_attempt_at LIMIT 1) IS TRUE,
       (SELECT true FROM rowrun.stream_note n WHERE n.printed_at IS NULL ORDER BY n.id LIMIT 1) IS TRUE,
       coalesce((SELECT me.paused_at::text FROM me), '')
       || (SELECT md5(coalesce(string_agg(rule::text, E'\n' ORDER BY rule.type), '')) FROM (SELECT * FROM rowrun.task_type ORDER BY type LIMIT 1000) rule),
       pg_notification_queue_usage(),
       ` + holdUpsText + `
FROM now, due`

// Survey looks once at what the sweeps of a replica are for. ErrDead: the replica may not claim any more.
func (s *Store) Survey(ctx context.Context, replicaID string, w Wants) (Survey, error) {
	var v Survey
	var alive bool
	var next *float64
	var holdUps string
	err := s.passes.QueryRow(ctx, survey, replicaID, list(w.Queues), list(w.Types)).Scan(&alive, &v.Work, &next,
		&v.Owned, &v.Overdue, &v.Deliveries, &v.Notes, &v.Rules, &v.NotifyQueue, &holdUps)
	if err == nil {
		err = json.Unmarshal([]byte(holdUps), &v.HoldUps)
	}
	if err != nil {
		return Survey{}, fmt.Errorf("survey: %w", err)
	}
	if !alive {
		return Survey{}, ErrDead
	}
	if next != nil {
		v.NextDue = max(time.Duration(min(*next, 1e9)*float64(time.Millisecond)), time.Microsecond)
	}
	return v, nil
}
