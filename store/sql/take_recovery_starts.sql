-- take_recovery_starts
-- How many runs a replica may start now in a recovery whose rate has a cap, of all replicas together.
-- $1 bigint: the recovery
-- $2 bigint: how many it wants
-- $3 float8: how many may be started per second
-- $4 float8: how many at once, after a pause
-- Returns: how many; in how many s the next may be. No row: the recovery has ended
-- paced_until is a bucket of tokens: it lies as far behind the clock as the bucket is full. The clock is read before the row is
-- locked, so that who had to wait for it gets less, not more.
WITH now AS MATERIALIZED (
    SELECT clock_timestamp() AS t
), bucket AS MATERIALIZED (
    SELECT r.id, now.t, greatest(r.paced_until, now.t - make_interval(secs => $4::float8 / $3::float8)) AS since
    FROM rowrun.recovery r, now WHERE r.id = $1 AND r.ended_at IS NULL FOR NO KEY UPDATE OF r
), granted AS MATERIALIZED (
    SELECT b.id, b.t, b.since, greatest(least($2::bigint, floor(extract(epoch FROM b.t - b.since)::float8 * $3::float8 + 1e-6)::bigint), 0) AS n FROM bucket b
), taken AS (
    UPDATE rowrun.recovery r SET paced_until = g.since + make_interval(secs => g.n / $3::float8) FROM granted g
    WHERE r.id = g.id AND g.n > 0
)
SELECT g.n, greatest(extract(epoch FROM g.since + make_interval(secs => (g.n + 1) / $3::float8) - g.t)::float8, 0) FROM granted g
