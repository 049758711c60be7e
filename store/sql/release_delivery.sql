-- release_delivery
-- Gives the lease of a delivery back without a try.
-- $1 bigint: delivery
-- $2 uuid: its lease
-- $3 text: what the replica lacks for a try; '': nothing
-- Returns: no row; it changes one unless the lease is lost or the delivery settled
UPDATE rowrun.webhook_delivery
SET leased_until = NULL, lease_token = NULL, last_error = coalesce(nullif($3, ''), last_error),
    unready_since = CASE WHEN $3 <> '' THEN coalesce(unready_since, clock_timestamp()) ELSE unready_since END
WHERE id = $1 AND status = 'PENDING' AND lease_token = $2
