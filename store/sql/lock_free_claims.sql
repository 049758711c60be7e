-- lock_free_claims
-- Locks what workers hold of these runs, as far as nobody is just prolonging or ending it.
-- $1 bigint[]: runs
-- Returns: those that no worker holds, or whose claim is locked now
SELECT i.id FROM unnest($1::bigint[]) i(id)
WHERE i.id IN (SELECT c.run_id FROM (
          SELECT c.run_id FROM rowrun.task_run r JOIN rowrun.worker_claim c ON c.claim_hash = r.claim_hash
          WHERE r.id = ANY ($1) ORDER BY c.run_id FOR UPDATE OF c SKIP LOCKED) c)
   OR NOT EXISTS (SELECT FROM rowrun.task_run r JOIN rowrun.worker_claim c ON c.claim_hash = r.claim_hash WHERE r.id = i.id)
