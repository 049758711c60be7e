-- claim_runs_bounded
-- claim_runs for a replica with bounds of its own (slots that only runs of at least a priority take, room for types, timeouts of types), or
-- where there may be limits: what is beyond a bound, and what a limit holds back, is passed by.
-- $1 text: the replica
-- $2 bytea: the hashes of the claims, 32 bytes each, one behind the other
-- $3 float8: timeout in s of runs whose task has none; 0: none
-- $4 text[]: queues that the replica serves
-- $5 text[]: types, of which it has room for
-- $6 text[]: databases
-- $7 text[]: commands
-- $8 bigint: how many candidates to look at
-- $9 bigint: how many runs to take
-- $10 bigint[]: how many runs of each of these types to take at most; NULL: no type has a bound
-- $11 float8[]: $3 for each of these types; NULL: the same for all
-- $12 integer[]: priorities, ascending; NULL: none
-- $13 integer[]: how many runs below each to take at most, ascending
-- Returns: at least one row: the priorities of the runs that were claimed, in the order of their claims; then what claim_runs does;
-- candidates that there was no slot or room for don't count
-- The bounds are asked twice: of the candidates, so that no more are locked than there are slots for, and of those that could be
-- locked, by the values that they have by then. It begins at the first run.
WITH step AS MATERIALIZED (
    SELECT c.* FROM rowrun.claim_available(ROW($1, $2, 0, $3, $4, $5, $6, $7)::rowrun.claim_request, $8, $9, $10, $11, $12, $13) c
), said AS MATERIALIZED (
    SELECT s.ranks, s.candidates, s.alive, s.claims, set_config('rowrun.claimed', cardinality(s.claims)::text, true) AS claimed, pg_current_xact_id_if_assigned()::text::bigint AS xid FROM step s
)
SELECT s.ranks, s.candidates, s.alive,
       c.n::bigint, c.id, c.root_id, c.task_id, c.name, c.plan_id, c.attempt, c.type, c.queue, c.database_id, c.version, c.input, c.manual, c.timeout,
       c.task_type, c.alias_of, c.task_database_id, c.task_version, c.payload, c.state, c.traceparent, c.progress_timeout, c.failure_log_level,
       c.retry_of, c.created_at, c.available_at, c.started_at, s.xid
FROM said s LEFT JOIN LATERAL unnest(s.claims) c ON s.claimed IS NOT NULL
