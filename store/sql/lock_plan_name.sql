-- lock_plan_name
-- Waits until nobody else applies a plan of that project and name. Lasts as long as the transaction.
-- $1 text: project
-- $2 text: name
-- Returns: one row, nothing in it
SELECT pg_advisory_xact_lock(1920298608, hashtext($1 || '/' || $2))
