-- stream_history
-- Past transitions that rows still tell of. The cursor rowrun_stream_history is read after the transaction: psql's \bind
-- sends it, PREPARE doesn't take it.
-- With a snapshot, rows that it doesn't show are told, whatever their times say: a transaction that was open for long
-- commits rows with old times. Which of their transitions are new is told by their times, but for the last: half a second
-- is told again, for transactions that were open then. A reader leaves out of that what it has printed itself.
--
-- What was written behind a savepoint, or in a block of PL/pgSQL with EXCEPTION, has a number of its own, which no snapshot names:
-- above the oldest that was open then, a snapshot that shows a number proves nothing. Of such rows the times decide, but for runs
-- that were never seen: those are told whole.
--
-- Times may be a little out of order (promotion and insert run side by side), but a run's own line never comes before
-- the one that it follows.
-- Of a run that is as its INSERT has left it, AVAILABLE without ever having been PENDING, its insert tells both transitions.
--
-- $1 float8: since when, seconds of the Unix epoch
-- $2 text: what was committed then, a pg_snapshot; '': not known
-- $3 text: ids of which no run was seen until then, an int8multirange
-- Returns: of the cursor: the columns of stream_rows, the status before ('': an insert), the one after, the replica (NULL
--   before RUNNING)
DECLARE rowrun_stream_history NO SCROLL CURSOR WITH HOLD FOR
SELECT r.id, r.root_id, r.task_id, k.name, r.type, r.queue, r.plan_id, r.database_id, r.version, r.attempt, r.retry_of,
       r.created_at, r.run_at, r.available_at, r.started_at, r.finished_at,
       CASE WHEN r.status IN ('FAILED', 'CANCELED') THEN r.result ->> 'code' END,
       CASE WHEN r.status IN ('FAILED', 'CANCELED') THEN left(r.result ->> 'detail', 4096) END,
       r.retry_run_id, k.failure_log_level, r.status, r.replica_id, coalesce(r.prev_status, ''), r.xmin::text::bigint,
       (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint),
       coalesce(p.prior, ''), p.status, CASE WHEN p.rank >= 3 THEN r.replica_id END
FROM rowrun.task_run r
JOIN rowrun.task k ON k.id = r.task_id
CROSS JOIN (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xid, nullif($2::text, '')::pg_snapshot AS seen,
                   $3::text::int8multirange AS unseen) c
CROSS JOIN LATERAL (SELECT (c.xid - ((c.xid - r.xmin::text::bigint) & 4294967295))::text::xid8 AS xid) w
CROSS JOIN LATERAL (VALUES
    (1, NULL, 'PENDING', r.created_at, r.created_at),
    (2, 'PENDING', 'AVAILABLE', r.available_at, greatest(r.created_at, r.available_at)),
    (3, 'AVAILABLE', 'RUNNING', r.started_at, greatest(r.created_at, r.available_at, r.started_at)),
    (4, CASE WHEN r.started_at IS NOT NULL THEN 'RUNNING' WHEN r.available_at IS NOT NULL THEN 'AVAILABLE' ELSE 'PENDING' END,
        r.status, r.finished_at, greatest(r.created_at, r.available_at, r.started_at, r.finished_at))
) p(rank, prior, status, at, place)
WHERE CASE WHEN $2::text = '' THEN r.updated_at >= to_timestamp($1::float8) AND p.at >= to_timestamp($1::float8)
      ELSE r.updated_at >= to_timestamp($1::float8) - interval '1 day' AND p.at IS NOT NULL
           AND (r.id <@ c.unseen
                OR w.xid >= pg_snapshot_xmin(c.seen) AND p.at >= to_timestamp($1::float8) - interval '500 ms'
                OR NOT pg_visible_in_snapshot(w.xid, c.seen)
                   AND (p.status = r.status AND (r.prev_status IS NOT NULL OR p.rank = 1)
                        OR p.rank = 2 AND r.status = 'RUNNING' AND r.prev_status = 'PENDING'
                        OR p.rank <= 2 AND r.status = 'AVAILABLE' AND r.cause = 'UNTOLD')) END
  AND NOT (p.rank = 2 AND r.status = 'AVAILABLE' AND r.prev_status IS NULL AND r.created_at >= to_timestamp($1::float8))
ORDER BY p.place, r.id, p.rank
