-- Waves: whoever applies plans makes them, operators move them, passes open them.
GRANT SELECT ON rowrun.plan_wave, rowrun.plan_wave_status TO rowrun_client, rowrun_viewer, rowrun_replica;
GRANT UPDATE ON rowrun.plan_wave TO rowrun_replica;
REVOKE ALL ON FUNCTION rowrun.advance_waves(bigint[], boolean), rowrun.open_next_wave(bigint, timestamptz), rowrun.open_wave(bigint, integer, timestamptz),
    rowrun.add_waves(bigint, jsonb), rowrun.give_waves(bigint, jsonb, boolean), rowrun.make_waves(bigint, jsonb), rowrun.make_any_waves(bigint, jsonb),
    rowrun.move_waves(bigint, text, text), rowrun.roll_on(bigint, integer), rowrun.task_dependency_waves() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.advance_waves(bigint[], boolean), rowrun.open_next_wave(bigint, timestamptz), rowrun.open_wave(bigint, integer, timestamptz) TO rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.add_waves(bigint, jsonb), rowrun.make_waves(bigint, jsonb) TO rowrun_client;
GRANT EXECUTE ON FUNCTION rowrun.make_any_waves(bigint, jsonb) TO rowrun_author, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.move_waves(bigint, text, text), rowrun.roll_on(bigint, integer) TO rowrun_operator;
