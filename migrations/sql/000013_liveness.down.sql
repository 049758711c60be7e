DROP FUNCTION rowrun.replace_run(text, text, jsonb, timestamptz, integer), rowrun.replace_run(bigint, text, jsonb, timestamptz, integer);
DROP FUNCTION rowrun.enqueue_many(bigint, jsonb, text[], text, timestamptz, integer),
    rowrun.enqueue_many(bigint, jsonb[], text[], text, timestamptz, integer),
    rowrun.enqueue_many(bigint, text, text[], text, timestamptz, integer),
    rowrun.enqueue_many(text, jsonb, text[], text, timestamptz, integer),
    rowrun.enqueue_many(text, jsonb[], text[], text, timestamptz, integer),
    rowrun.enqueue_many(text, text, text[], text, timestamptz, integer);
DROP FUNCTION rowrun.insert_many(bigint, jsonb, text[], text, timestamptz, integer), rowrun.task_named(text);
DROP FUNCTION rowrun.purge_type(text, interval, bigint, integer), rowrun.note_orphans(interval, interval);
DROP VIEW rowrun.orphan_task_run;
DROP TABLE rowrun.orphan_type, rowrun.task_type;
ALTER TABLE rowrun.deployment DROP COLUMN orphans_looked_at;
DROP TRIGGER task_recovery_check ON rowrun.task;
DROP FUNCTION rowrun.task_recovery_check(), rowrun.handle_ended(bigint[]), rowrun.handler_task(text);
DROP TABLE rowrun.stream_note;
DELETE FROM rowrun.migration WHERE version = 13;
