DROP FUNCTION rowrun.advance_databases(text[]), rowrun.promote_runs(boolean, boolean, integer), rowrun.first_sequential(text, text, timestamptz), rowrun.sequential_open(bigint, timestamptz), rowrun.note_promoted(bigint[]), rowrun.promoted_now(),
    rowrun.plan_room(bigint),
    rowrun.closed_gate(rowrun.task_run, boolean, timestamptz),
    rowrun.takes(rowrun.replica_heartbeat, timestamptz, text, text, text, jsonb), rowrun.fits(text, text, jsonb, text[], text[]);
DROP VIEW rowrun.unmet_dependency;
DROP TABLE rowrun.promotion_lock;
DELETE FROM rowrun.migration WHERE version = 5;
