-- find_act_asked
-- The act of a request id, and whether it is the one that is asked for.
-- $1 uuid: request id
-- $2 text: verb
-- $3 text: kind of its targets
-- $4 text: who asks
-- $5 text[]: targets; NULL: by filter
-- $6 text: filter as it was asked for; NULL: none
-- $7 text: arguments
-- Returns: at most one row: store.Act, and whether all of that is the same
SELECT a.id, a.request_id::text, a.verb, a.kind, a.asked_by, a.created_at, a.ended_at, a.targets[1:200], a.filter, a.args, a.expected, a.capped,
    a.done, a.unchanged, a.failed, a.failures, a.made::text[], a.state, a.stopped_by,
    a.verb = $2 AND a.kind = $3 AND a.asked_by = $4 AND a.targets IS NOT DISTINCT FROM $5 AND a.filter IS NOT DISTINCT FROM $6::text::jsonb
        AND a.args = coalesce($7::text::jsonb, '{}')
FROM rowrun.act a WHERE a.request_id = $1
