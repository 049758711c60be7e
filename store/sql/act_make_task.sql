-- act_make_task
-- What an act makes: a task without a plan, or the one of that name brought up to date.
-- $1 text: the arguments of rowrun.define_task by name; what is missing has its default
-- Returns: its id
SELECT rowrun.define_task(m.name, m.type, m.payload, m.queue, m.database_id, m.version, m.sequential, m.priority, m.timeout, m.progress_timeout,
    m.max_attempts, m.retry_delay, m.on_stale, m.labels)
FROM jsonb_to_record($1::text::jsonb) AS m(name text, type text, payload jsonb, queue text, database_id text, version text, sequential boolean,
    priority integer, timeout interval, progress_timeout interval, max_attempts integer, retry_delay interval, on_stale text, labels jsonb)
