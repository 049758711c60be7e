-- promote_ungated
-- The part of a pass that needs no judgement, for a replica whose judgements take longer than its statements may.
-- $1 text: the replica
-- $2 integer: how many runs it takes on at once
-- Returns: what promote does
WITH me AS MATERIALIZED (
    SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE' FOR KEY SHARE
), alive AS MATERIALIZED (
    SELECT count(*) > 0 AS yes FROM me
)
SELECT alive.yes, pg_current_snapshot()::text || ':' || age('3'::xid), p.promoted, false, p.more, NULL::float8
FROM alive CROSS JOIN LATERAL rowrun.promote_ungated(clock_timestamp(), $2, NULL) p
