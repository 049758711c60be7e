-- deployment
-- The identity of this deployment.
-- Returns: a uuid, as text
SELECT id::text FROM rowrun.deployment
