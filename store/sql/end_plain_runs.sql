-- end_plain_runs
-- What rowrun.end_runs does for runs that ended well, as one statement: half the time for a single run. Where it meets
-- anything but the row itself (a plan, a schedule, a limit, a state to keep, a large result, a database that isn't looked at
-- afterwards) the run stays as it is, and is for the function.
-- $1 bigint[]: runs
-- $2 bytea[]: the hashes of their claims
-- $3 jsonb[]: results
-- $4 text[]: databases that are looked at afterwards
-- Returns: the runs that ended (NULL: none), when each did, and the transaction
WITH done AS (
    UPDATE rowrun.task_run r
    SET status = 'DONE', prev_status = 'RUNNING', edited_directly = NULL, finished_at = now.t, updated_at = greatest(now.t, r.updated_at + interval '1 us'), claim_hash = NULL,
        result = i.result
    FROM unnest($1::bigint[], $2::bytea[], $3::jsonb[]) AS i(id, claim_hash, result), (SELECT clock_timestamp() AS t) now
    WHERE r.id = i.id AND coalesce(r.status, '') = 'RUNNING' AND r.claim_hash = i.claim_hash
      AND num_nonnulls(r.plan_id, r.tick, r.limit_keys) = 0 AND (r.database_id IS NULL OR r.database_id = ANY ($4::text[]))
      AND jsonb_typeof(i.result) = 'object' AND NOT i.result ? 'state' AND pg_column_size(i.result) < 2000
    RETURNING r.id, r.finished_at, rowrun.transition(r) AS item
), said AS (
    SELECT array_agg(d.id) AS ids, array_agg(d.finished_at) AS finished_at, rowrun.announce(array_agg(d.item)) FROM done d
)
SELECT ids, finished_at, pg_current_xact_id_if_assigned()::text::bigint FROM said
