-- remove_ended_claims
-- Removes what workers held of runs that have ended.
-- $1 bigint[]: runs
-- Returns: no row
DELETE FROM rowrun.worker_claim c WHERE c.run_id = ANY ($1)
