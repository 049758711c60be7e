-- Liveness: notes for the stream, lost runs, types that go.
GRANT SELECT ON rowrun.orphan_task_run, rowrun.orphan_type, rowrun.task_type, rowrun.stream_note TO rowrun_client, rowrun_viewer, rowrun_replica;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.stream_note, rowrun.orphan_type TO rowrun_replica;
GRANT SELECT ON rowrun.stream_position TO rowrun_client, rowrun_viewer;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.stream_position, rowrun.stream_handover TO rowrun_replica;
GRANT UPDATE (orphans_looked_at, last_alive_at) ON rowrun.deployment TO rowrun_replica;
GRANT SELECT ON rowrun.recovery TO rowrun_client, rowrun_viewer;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.recovery TO rowrun_replica;
GRANT INSERT, UPDATE (draining, alias_of, mapping, changed_at) ON rowrun.task_type TO rowrun_operator;
REVOKE ALL ON FUNCTION rowrun.handle_ended(bigint[]), rowrun.record_orphans(interval, interval),
    rowrun.purge_type(text, interval, bigint, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.handle_ended(bigint[]), rowrun.record_orphans(interval, interval) TO rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.purge_type(text, interval, bigint, integer) TO rowrun_operator;
