DROP TRIGGER task_author_schedule ON rowrun.task;
DROP TRIGGER task_schedule_fill ON rowrun.task;
DROP TRIGGER task_schedule_refill ON rowrun.task;
DROP TRIGGER task_scheduled ON rowrun.task;
DROP TRIGGER task_rescheduled ON rowrun.task;
DROP FUNCTION rowrun.schedule_sweep(bigint, integer);
DROP FUNCTION rowrun.skip_missed(bigint[]);
DROP FUNCTION rowrun.task_scheduled();
DROP FUNCTION rowrun.cancel_tick(bigint, text);
DROP FUNCTION rowrun.schedule_task(bigint, boolean, boolean);
DROP FUNCTION rowrun.schedule_ended(bigint[], bigint[]);
DROP FUNCTION rowrun.schedule_after(bigint[]);
DROP FUNCTION rowrun.pause_schedule(bigint, text);
DROP FUNCTION rowrun.missed_at(rowrun.task, timestamptz);
DROP FUNCTION rowrun.tick_that_follows(rowrun.task, rowrun.task_run, timestamptz);
DROP FUNCTION rowrun.known_zone(text);
DROP FUNCTION rowrun.task_schedule_fill();
DROP FUNCTION rowrun.next_tick(text, text, timestamptz, timestamptz);
DROP FUNCTION rowrun.tick_after(bigint[], text, timestamptz, timestamptz);
DROP FUNCTION rowrun.parse_schedule(text);
DROP FUNCTION rowrun.clock_change(text, timestamptz, timestamptz);
DROP FUNCTION rowrun.utc_offset(text, timestamptz);
DROP FUNCTION rowrun.cron_local(bigint, bigint, bigint, bigint, bigint, boolean, timestamp);
DROP FUNCTION rowrun.go_duration(text);
DROP FUNCTION rowrun.cron_field(text, text, integer, integer, text[]);
DROP INDEX rowrun.task_run_tick, rowrun.task_run_tick_unfinished, rowrun.task_scheduled, rowrun.task_schedule_error;
-- Nobody would make what follows these runs.
SELECT set_config('rowrun.scheduling', 'on', true);
UPDATE rowrun.task_run SET tick = NULL, missed_at = NULL WHERE tick IS NOT NULL;
ALTER TABLE rowrun.task
    DROP COLUMN schedule, DROP COLUMN time_zone, DROP COLUMN misfire, DROP COLUMN starts_at, DROP COLUMN ends_at,
    DROP COLUMN overlap, DROP COLUMN state, DROP COLUMN schedule_error, DROP COLUMN scheduled_at, DROP COLUMN schedule_parts;
DELETE FROM rowrun.migration WHERE version = 12;
