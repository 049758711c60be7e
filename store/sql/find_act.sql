-- find_act
-- An act.
-- $1 bigint: act
-- Returns: at most one row: store.Act
SELECT a.id, a.request_id::text, a.verb, a.kind, a.asked_by, a.created_at, a.ended_at, a.targets[1:200], a.filter, a.args, a.expected, a.capped,
    a.done, a.unchanged, a.failed, a.failures, a.made::text[], a.state, a.stopped_by
FROM rowrun.act a WHERE a.id = $1
