-- begin_act
-- Records an act, unless one of that request id was.
-- $1 uuid: request id
-- $2 text: verb
-- $3 text: kind of its targets
-- $4 text: who asks
-- $5 text[]: targets; NULL: by filter
-- $6 text: filter as it was asked for; NULL: none
-- $7 text: filter as it is searched with; NULL: none
-- $8 text: arguments
-- $9 integer: how many were counted; NULL: none were
-- $10 boolean: true: there may be more
-- $11 bigint: by filter nothing above this id
-- Returns: its id; no row where there is one of that request id
INSERT INTO rowrun.act (request_id, verb, kind, asked_by, targets, filter, search, args, expected, capped, bound)
VALUES ($1, $2, $3, $4, $5, $6::text::jsonb, $7::text::jsonb, coalesce($8::text::jsonb, '{}'), $9, $10, $11)
ON CONFLICT (request_id) DO NOTHING
RETURNING id
