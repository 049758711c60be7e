-- claim_runs_limited
-- claim_runs where there may be limits: what a limit holds back is passed by.
-- $1 text: the replica
-- $2 bytea: the hashes of the claims, 32 bytes each, one behind the other
-- $3 float8: timeout in s of runs whose task has none; 0: none
-- $4 text[]: queues that the replica serves
-- $5 text[]: types
-- $6 text[]: databases
-- $7 text[]: commands
-- $8 bigint: how many candidates to look at
-- $9 bigint: how many runs to take
-- Returns: what claim_runs does
WITH step AS MATERIALIZED (
    SELECT c.* FROM rowrun.claim_available(ROW($1, $2, 0, $3, $4, $5, $6, $7)::rowrun.claim_request, $8, $9) c
), said AS MATERIALIZED (
    SELECT s.candidates, s.alive, s.claims, set_config('rowrun.claimed', cardinality(s.claims)::text, true) AS claimed FROM step s
)
SELECT s.candidates, s.alive,
       c.n::bigint, c.id, c.root_id, c.task_id, c.name, c.plan_id, c.attempt, c.type, c.queue, c.database_id, c.version, c.input, c.manual, c.timeout,
       c.task_type, c.alias_of, c.task_database_id, c.task_version, c.payload, c.state, c.traceparent, c.progress_timeout, c.failure_log_level
FROM said s LEFT JOIN LATERAL unnest(s.claims) c ON s.claimed IS NOT NULL
