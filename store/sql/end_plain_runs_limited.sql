-- end_plain_runs_limited
-- end_plain_runs where there may be limits: the places that come free, too.
-- $1 bigint[]: runs
-- $2 bytea[]: the hashes of their claims
-- $3 jsonb[]: results
-- $4 text[]: databases that are looked at afterwards
-- Returns: what end_plain_runs does; whether places came free
WITH done AS (
    UPDATE rowrun.task_run r
    SET status = 'DONE', prev_status = 'RUNNING', edited_directly = NULL, finished_at = now.t, updated_at = greatest(now.t, r.updated_at + interval '1 us'), claim_hash = NULL,
        result = i.result
    FROM unnest($1::bigint[], $2::bytea[], $3::jsonb[]) AS i(id, claim_hash, result), (SELECT clock_timestamp() AS t) now
    WHERE r.id = i.id AND coalesce(r.status, '') = 'RUNNING' AND r.claim_hash = i.claim_hash
      AND num_nonnulls(r.plan_id, r.tick) = 0 AND (r.database_id IS NULL OR r.database_id = ANY ($4::text[]))
      AND jsonb_typeof(i.result) = 'object' AND NOT i.result ? 'state' AND pg_column_size(i.result) < 2000
    RETURNING r.id, r.finished_at, rowrun.transition(r) AS item
), freed AS (
    DELETE FROM rowrun.limit_holder h WHERE h.run_id IN (SELECT d.id FROM done d) RETURNING h.limit_key, h.share_id
), marked AS (
    INSERT INTO rowrun.gate_mark (kind, limit_key) SELECT DISTINCT 'LIMIT', k.limit_key FROM freed f CROSS JOIN LATERAL rowrun.freed_key(f.limit_key, f.share_id) k RETURNING id
), said AS (
    SELECT array_agg(d.id) AS ids, array_agg(d.finished_at) AS finished_at, rowrun.announce(array_agg(d.item)) FROM done d
)
SELECT said.ids, said.finished_at, pg_current_xact_id_if_assigned()::text::bigint, EXISTS (SELECT FROM marked) FROM said
