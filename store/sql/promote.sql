-- promote
-- One promote pass of a replica, where something asks for it.
-- $1 text: the replica
-- $2 boolean: a sweep, which also looks for what has lost its mark
-- $3 integer: how many runs and marks it takes on at once
-- Returns: whether the replica may claim; the snapshot before the pass; how many runs were promoted, whether another replica
-- was promoting, whether there is more to do now; in how many ms the next run is due (NULL: none is known)
-- A replica locks its own row before it promotes, so that whoever declares it dead either waits for what it claims or comes
-- first. A pass that finds nothing locks nothing: it would have to flush a commit.
-- The look is inlined, which it isn't with the clock as its argument; promote_runs stands where a condition keeps it from being
-- called at all.
WITH asked AS MATERIALIZED (
    SELECT a.next_ms, $2 OR a.marked OR a.due OR a.ungated AS work
    FROM (SELECT clock_timestamp() AS t) now CROSS JOIN LATERAL rowrun.asked_for(now.t) a
), me AS MATERIALIZED (
    SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE' AND (SELECT work FROM asked) FOR KEY SHARE
)
SELECT CASE WHEN asked.work THEN (SELECT count(*) FROM me) > 0
            ELSE EXISTS (SELECT FROM rowrun.replica_heartbeat WHERE replica_id = $1 AND state = 'ACTIVE') END,
       pg_current_snapshot()::text || ':' || age('3'::xid), coalesce((p.pass).promoted, 0), coalesce((p.pass).busy, false), coalesce((p.pass).more, false),
       coalesce((p.pass).next_ms, asked.next_ms)
FROM asked LEFT JOIN LATERAL (SELECT rowrun.promote_runs($2, true, $3) AS pass WHERE asked.work) p ON true
