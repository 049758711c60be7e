-- begin_recovery
-- Begins a recovery, unless one is under way, and has the stream say so.
-- $1 float8: for how many s no replica that claims was alive
-- $2 bigint: how many runs are due and not started
-- Returns: rows: the recovery, where this began it
-- What ended over 90 days ago goes.
WITH old AS (
    DELETE FROM rowrun.recovery r WHERE r.ended_at < clock_timestamp() - interval '90 days'
), begun AS (
    INSERT INTO rowrun.recovery (last_seen, backlog, remaining)
    VALUES (clock_timestamp() - make_interval(secs => $1), $2, $2)
    ON CONFLICT DO NOTHING
    RETURNING *
), said AS (
    INSERT INTO rowrun.stream_note (level, event, message, detail)
    SELECT 'warn', 'recovery.began',
           format('no replica was alive for %s: recovery began, %s runs are overdue', rowrun.ago(b.began_at - b.last_seen),
                  b.backlog || CASE WHEN b.backlog >= 100000 THEN ' or more' ELSE '' END),
           jsonb_build_object('recovery_id', b.id, 'outage_ms', round(extract(epoch FROM b.began_at - b.last_seen) * 1000), 'backlog', b.backlog)
    FROM begun b
)
SELECT id FROM begun
