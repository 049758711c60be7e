REVOKE ALL ON FUNCTION rowrun.pause_schedule(bigint, text), rowrun.schedule_after(bigint[]), rowrun.schedule_ended(bigint[], bigint[]),
    rowrun.cancel_tick(bigint, text), rowrun.schedule_task(bigint, boolean, boolean), rowrun.task_scheduled(), rowrun.skip_missed(bigint[]), rowrun.schedule_sweep(bigint, integer)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.pause_schedule(bigint, text), rowrun.schedule_after(bigint[]), rowrun.schedule_ended(bigint[], bigint[]),
    rowrun.cancel_tick(bigint, text), rowrun.schedule_task(bigint, boolean, boolean), rowrun.skip_missed(bigint[]), rowrun.schedule_sweep(bigint, integer) TO rowrun_replica;
