-- act_make_run
-- What an act makes: a run of a task, or the one that has the key.
-- $1 text: {"task", "input", "run_at", "priority", "idempotency_key", "after"}, of which the task is needed
-- Returns: its id
SELECT rowrun.run_task(m.task, coalesce(m.input, '{}'), coalesce(m.run_at, now()), m.priority, m.idempotency_key, m.after)
FROM jsonb_to_record($1::text::jsonb) AS m(task text, input jsonb, run_at timestamptz, priority integer, idempotency_key text, after bigint[])
