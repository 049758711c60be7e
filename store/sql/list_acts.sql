-- list_acts
-- Acts, the newest first. It is planned for its parameters.
-- $1 text: state; '': any
-- $2 bigint: up to this id
-- $3 bigint: how many at most
-- Returns: store.Act
SELECT a.id, a.request_id::text, a.verb, a.kind, a.asked_by, a.created_at, a.ended_at, a.targets[1:200], a.filter, a.args, a.expected, a.capped,
    a.done, a.unchanged, a.failed, a.failures, a.made::text[], a.state, a.stopped_by
FROM rowrun.act a WHERE ($1 = '' OR a.state = $1) AND a.id <= $2 ORDER BY a.id DESC LIMIT $3
