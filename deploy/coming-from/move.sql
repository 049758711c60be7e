-- The second half of the scripts beside it, which include it: turns the jobs of pending_job into runs.
--
-- pending_job: old_id (unique), task (its name), data (jsonb or NULL), run_at, priority, key, own_key (the key is the job's
-- own name, not made of its old id), leave (why it stays where it is; NULL: it needn't).
-- moved_job: those that have a run now, and may be taken out of the old table. What stays is neither lost nor run twice.

UPDATE pg_temp.pending_job p SET leave = CASE
    WHEN NOT EXISTS (SELECT FROM rowrun.task k WHERE k.name = p.task AND k.name <> '' AND k.plan_id IS NULL) THEN 'no task of this name: rowrun.define_task'
    WHEN octet_length(p.key) > 500 THEN 'its key has more than 500 bytes'
    WHEN p.run_at < timestamptz '1900-01-01 00:00+00' OR p.run_at >= timestamptz '9999-01-01 00:00+00' THEN 'its time is beyond 1900 to 9999'
    WHEN octet_length(p.data::text) > 1000000 THEN 'its data has more than 1 MB'
    WHEN p.own_key AND EXISTS (SELECT FROM rowrun.task k JOIN rowrun.task_run r ON r.task_id = k.id AND r.idempotency_key = p.key
                               WHERE k.name = p.task AND k.name <> '' AND k.plan_id IS NULL) THEN 'a run of the task has its key'
    END
WHERE p.leave IS NULL;

-- What it is to be done with: a body for HTTP, arguments for COMMAND, the input itself for types of one's own; what is no
-- JSON object, and what SQL tasks may find beside their text, is the key data.
CREATE TEMP TABLE wanted_run ON COMMIT DROP AS
SELECT p.old_id, k.id AS task_id, p.run_at, p.priority, p.key,
       CASE WHEN p.data IS NULL THEN '{}'
            WHEN k.type = 'HTTP' THEN jsonb_build_object('body', p.data)
            WHEN k.type = 'COMMAND' THEN jsonb_build_object('args', p.data)
            WHEN k.type IN ('SQL', 'DATABASE_MIGRATE') OR jsonb_typeof(p.data) <> 'object' THEN jsonb_build_object('data', p.data)
            ELSE p.data END AS input
FROM pg_temp.pending_job p JOIN rowrun.task k ON k.name = p.task AND k.name <> '' AND k.plan_id IS NULL
WHERE p.leave IS NULL;

CREATE TEMP TABLE moved_job (old_id text PRIMARY KEY, run_id bigint NOT NULL, anew boolean NOT NULL) ON COMMIT DROP;

-- A key made of an old id that has a run already was moved before, and is back from a backup: it needs no second run.
WITH made AS (
    INSERT INTO rowrun.task_run AS r (task_id, input, run_at, priority, idempotency_key)
    SELECT w.task_id, w.input, w.run_at, w.priority, w.key FROM pg_temp.wanted_run w ORDER BY w.run_at, w.old_id
    ON CONFLICT (task_id, idempotency_key) DO NOTHING
    RETURNING r.id, r.task_id, r.idempotency_key
), found AS (
    SELECT r.id, r.task_id, r.idempotency_key, true AS anew FROM made r
    UNION ALL
    SELECT r.id, r.task_id, r.idempotency_key, false
    FROM pg_temp.wanted_run w JOIN rowrun.task_run r ON r.task_id = w.task_id AND r.idempotency_key = w.key
)
INSERT INTO pg_temp.moved_job (old_id, run_id, anew)
SELECT w.old_id, f.id, f.anew
FROM pg_temp.wanted_run w JOIN found f ON f.task_id = w.task_id AND f.idempotency_key = w.key;
