-- count_recovery
-- What is left of a recovery's backlog, whether that ends the recovery, and what the stream says of it; by one replica at a time.
-- $1 bigint: the recovery
-- $2 float8: how often it is counted, in s
-- $3 float8: how often the stream tells of it, in s
-- $4 boolean: this replica has room, and its last search has found nothing
-- $5 float8: its lease in s
-- Returns: at most one row: store.Recovery, and whether it has ended
-- A recovery ends when its backlog is gone, or when nothing of it was started for a lease though a replica has room: what is left
-- then is for none of those that live. While counting ends at its bound, what was started tells whether anything moves. Moments that lie
-- ahead are from before the clock was set back: they count as now, and how long the last count is ago is not known.
WITH mine AS MATERIALIZED (
    SELECT r.* FROM rowrun.recovery r
    WHERE r.id = $1 AND r.ended_at IS NULL AND clock_timestamp() NOT BETWEEN r.counted_at AND r.counted_at + make_interval(secs => $2)
    FOR NO KEY UPDATE SKIP LOCKED
), served AS MATERIALIZED (
    SELECT DISTINCT q.queue, y.type FROM rowrun.replica_heartbeat h CROSS JOIN unnest(h.queues) q(queue) CROSS JOIN unnest(h.types) y(type)
    WHERE h.role = 'worker' AND NOT h.worker AND h.state = 'ACTIVE' AND h.last_heartbeat + h.lease > clock_timestamp()
), found AS MATERIALIZED (
    SELECT m.*, rowrun.overdue_backlog(least(m.began_at, clock_timestamp()), (SELECT array_agg(x.queue ORDER BY x.queue, x.type) FROM served x),
                                       (SELECT array_agg(x.type ORDER BY x.queue, x.type) FROM served x), 100000) AS count
    FROM mine m
), judged AS MATERIALIZED (
    SELECT l.*, CASE WHEN l.counted_at > l.t THEN l.rate WHEN l.rate = 0 THEN l.lately ELSE (l.rate + l.lately) / 2 END AS smooth FROM (
    SELECT f.*, now.t, f.count < f.remaining OR f.count >= 100000 AND f.started > f.counted_started AS moves,
           greatest(CASE WHEN f.remaining < 100000 THEN f.remaining - f.count ELSE f.started - f.counted_started END, 0)
               / greatest(extract(epoch FROM now.t - f.counted_at), 0.001)::float8 AS lately
    FROM found f, (SELECT clock_timestamp() AS t OFFSET 0) now) l
), written AS (
    UPDATE rowrun.recovery r
    SET remaining = j.count, rate = CASE WHEN j.smooth < 0.001 THEN 0 ELSE least(j.smooth, 1e11) END,
        counted_at = j.t, counted_started = j.started, moved_at = CASE WHEN j.moves OR r.moved_at > j.t THEN j.t ELSE r.moved_at END,
        noted_at = CASE WHEN r.noted_at > j.t OR r.noted_at + make_interval(secs => $3) <= j.t THEN j.t ELSE r.noted_at END,
        ended_at = CASE WHEN j.count = 0 OR $4 AND NOT j.moves AND r.moved_at + make_interval(secs => $5) < j.t THEN j.t END
    FROM judged j WHERE r.id = j.id
    RETURNING r.*, j.t,
        CASE WHEN r.rate > 0 THEN r.counted_at + make_interval(secs => least(r.remaining / r.rate, 1e8)) END AS estimated_end
), said AS (
    INSERT INTO rowrun.stream_note (level, event, message, detail)
    SELECT CASE WHEN w.ended_at IS NOT NULL AND w.remaining > 0 THEN 'warn' ELSE 'info' END,
           CASE WHEN w.ended_at IS NULL THEN 'recovery.progress' ELSE 'recovery.ended' END,
           CASE WHEN w.ended_at IS NULL THEN format('recovery: %s of %s overdue runs are left', w.remaining, w.backlog)
                WHEN w.remaining > 0 THEN format('recovery ended: of the %s overdue runs that are left none was started for %s, though there was room',
                                                    w.remaining, rowrun.ago(w.t - w.moved_at))
                ELSE 'recovery ended: the backlog is gone' END,
           jsonb_strip_nulls(jsonb_build_object('recovery_id', w.id, 'backlog', w.backlog, 'remaining', w.remaining, 'started', w.started,
               'rate', round(CASE WHEN w.ended_at IS NULL THEN w.rate::numeric
                                  ELSE (w.backlog - w.remaining) / greatest(extract(epoch FROM w.t - w.began_at), 0.001) END, 1),
               'took_ms', greatest(round(extract(epoch FROM w.t - w.began_at) * 1000), 0),
               'estimated_end', CASE WHEN w.ended_at IS NULL THEN w.estimated_end END))
    FROM written w WHERE w.ended_at IS NOT NULL OR w.noted_at = w.t
)
SELECT id, last_seen, began_at, backlog, remaining, started, rate, counted_at, estimated_end, ended_at IS NOT NULL FROM written
