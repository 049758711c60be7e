-- take_recovery_starts
-- How many runs a replica may start now in a recovery whose rate has a cap, of all replicas together.
-- $1 bigint: the recovery
-- $2 bigint: how many it wants
-- $3 float8: how many may be started per second
-- $4 float8: how many at once, after a pause
-- Returns: how many; in how many s the next may be. No row: the recovery has ended
-- paced_until is a bucket of tokens: it lies as far behind the clock as the bucket is full. The clock is read before the row is
-- locked, so that who had to wait for it gets less, not more. Nobody writes a paced_until beyond its own clock: one that lies beyond
-- the clock that is read under the lock is from before that was set back. It counts as now, and is written so.
WITH now AS MATERIALIZED (
    SELECT clock_timestamp() AS t
), bucket AS MATERIALIZED (
    SELECT r.id, now.t, greatest(r.paced_until, now.t - make_interval(secs => $4::float8 / $3::float8)) AS since
    FROM rowrun.recovery r, now WHERE r.id = $1 AND r.ended_at IS NULL FOR NO KEY UPDATE OF r
), known AS MATERIALIZED (
    SELECT b.id, b.t, b.ahead, CASE WHEN b.ahead THEN b.t ELSE b.since END AS since
    FROM (SELECT b.id, b.t, b.since, b.since > clock_timestamp() AS ahead FROM bucket b OFFSET 0) b
), granted AS MATERIALIZED (
    SELECT b.id, b.t, b.since, b.ahead, greatest(least($2::bigint, floor(extract(epoch FROM b.t - b.since)::float8 * $3::float8 + 1e-6)::bigint), 0) AS n FROM known b
), taken AS (
    UPDATE rowrun.recovery r SET paced_until = g.since + make_interval(secs => g.n / $3::float8) FROM granted g
    WHERE r.id = g.id AND (g.n > 0 OR g.ahead)
)
SELECT g.n, greatest(extract(epoch FROM g.since + make_interval(secs => (g.n + 1) / $3::float8) - g.t)::float8, 0) FROM granted g
