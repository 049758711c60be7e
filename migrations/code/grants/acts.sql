-- What the dashboard does is done as rowrun_operator, whose rights these are; everybody who reads runs reads who acted on them.
GRANT SELECT ON rowrun.act TO rowrun_client, rowrun_viewer, rowrun_replica;
GRANT INSERT (request_id, verb, kind, asked_by, targets, filter, search, args, expected, capped, bound) ON rowrun.act TO rowrun_operator;
GRANT UPDATE (position, done, unchanged, failed, failures, made, runs, state, stopped_by, ended_at) ON rowrun.act TO rowrun_operator;
REVOKE ALL ON FUNCTION rowrun.do_act(text, text, text, jsonb), rowrun.step_act(bigint, integer), rowrun.note_act(bigint, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.do_act(text, text, text, jsonb), rowrun.step_act(bigint, integer), rowrun.note_act(bigint, text) TO rowrun_operator;
