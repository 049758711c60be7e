-- Rows of every kind and runs in every state, for dumps of released schemas (make schema-dump). As the owner of the schema,
-- by statements that each release accepts.
INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, name, types, databases)
VALUES ('dump-1', now(), 'alive', '{NOOP,SQL,DATABASE_MIGRATE}', '{orders}'), ('dump-2', now() - interval '1 day', 'gone', '{NOOP}', '{}');
INSERT INTO rowrun.webhook (name, url, events) VALUES ('hook', 'https://example.com/hook', '{PIPELINE_FAILED,PIPELINE_COMPLETED}');
INSERT INTO rowrun.plan (name, parallel_limit) VALUES ('in every state', 3), ('complete', NULL), ('failed', NULL);
INSERT INTO rowrun.task (name, type) VALUES ('no plan', 'NOOP'), ('handler', 'NOOP');
INSERT INTO rowrun.task (name, type, on_failure_task, max_attempts, labels) VALUES ('handled', 'NOOP', 'handler', 3, '{"team": "a"}');
INSERT INTO rowrun.task (name, type, schedule, time_zone, overlap) VALUES ('scheduled', 'NOOP', '0 3 * * *', 'Europe/London', 'QUEUE');
INSERT INTO rowrun.task (plan_id, name, type)
SELECT p.id, s.name, 'NOOP' FROM rowrun.plan p, (VALUES ('pending'), ('available'), ('running'), ('done'), ('canceled'), ('skipped'), ('none')) s(name)
WHERE p.name = 'in every state' ORDER BY 1, 2;
INSERT INTO rowrun.task (plan_id, name, type, database_id, version, payload)
SELECT p.id, 'migrate ' || v, 'DATABASE_MIGRATE', 'orders', v, '{"sql": "SELECT 1"}' FROM rowrun.plan p, unnest('{1.9,1.10}'::text[]) v
WHERE p.name = 'in every state' ORDER BY 1, 2;
INSERT INTO rowrun.task (plan_id, name, type) SELECT p.id, 'only', 'NOOP' FROM rowrun.plan p WHERE p.name IN ('complete', 'failed') ORDER BY p.id;
INSERT INTO rowrun.task_dependency (task_id, depends_on_id)
SELECT a.id, b.id FROM rowrun.task a, rowrun.task b WHERE a.plan_id = b.plan_id AND a.name = 'pending' AND b.name = 'running';

INSERT INTO rowrun.task_run (task_id, input)
SELECT k.id, jsonb_build_object('of', k.name) FROM rowrun.task k WHERE k.plan_id IS NOT NULL AND k.name NOT IN ('none', 'skipped') ORDER BY k.id;
INSERT INTO rowrun.task_run (task_id, idempotency_key, run_at)
SELECT k.id, 'key ' || n, now() + interval '100 years' FROM rowrun.task k, generate_series(1, 6) n WHERE k.name = 'no plan';
INSERT INTO rowrun.task_run (task_id, run_at) SELECT k.id, now() + interval '100 years' FROM rowrun.task k WHERE k.name = 'handled';

-- key 1 stays PENDING, key 2 AVAILABLE, key 3 RUNNING; the others end.
UPDATE rowrun.task_run r SET status = 'AVAILABLE' FROM rowrun.task k
WHERE k.id = r.task_id AND r.status = 'PENDING'
  AND (k.name IN ('available', 'running', 'done', 'only', 'handled') OR k.name = 'no plan' AND r.idempotency_key IN ('key 2', 'key 3', 'key 4', 'key 5'));
UPDATE rowrun.task_run r SET status = 'RUNNING', replica_id = 'dump-1' FROM rowrun.task k
WHERE k.id = r.task_id AND r.status = 'AVAILABLE'
  AND (k.name IN ('running', 'done', 'only', 'handled') OR k.name = 'no plan' AND r.idempotency_key IN ('key 3', 'key 4', 'key 5'));
UPDATE rowrun.task_run r SET status = 'DONE', result = '{"rows": 1}' FROM rowrun.task k LEFT JOIN rowrun.plan p ON p.id = k.plan_id
WHERE k.id = r.task_id AND r.status = 'RUNNING' AND (k.name = 'done' OR p.name = 'complete' OR r.idempotency_key = 'key 4');
UPDATE rowrun.task_run r SET status = 'FAILED', result = '{"code": "ERROR", "detail": "as asked"}' FROM rowrun.task k LEFT JOIN rowrun.plan p ON p.id = k.plan_id
WHERE k.id = r.task_id AND r.status = 'RUNNING' AND (k.name = 'handled' OR p.name = 'failed' OR r.idempotency_key = 'key 5');
UPDATE rowrun.task_run r SET status = 'CANCELED' FROM rowrun.task k
WHERE k.id = r.task_id AND r.status IN ('PENDING', 'AVAILABLE') AND (k.name = 'canceled' OR r.idempotency_key = 'key 6');
UPDATE rowrun.task SET skipped = true, skip_reason = 'not wanted' WHERE name = 'skipped';
SELECT rowrun.retry_run(r.id) FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE k.name = 'handled' AND r.status = 'FAILED' AND r.retry_run_id IS NULL;
INSERT INTO rowrun.task_run_log (task_run_id, type, detail) SELECT min(r.id), 'note', '{"text": "kept"}' FROM rowrun.task_run r;
INSERT INTO rowrun.task_type (type, draining) VALUES ('OLD', true);
INSERT INTO rowrun.stream_note (event, message) VALUES ('task_type.orphaned', 'kept');
