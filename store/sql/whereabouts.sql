-- whereabouts
-- Where the deployment belongs, as it was written down and as the server says.
-- Returns: one row, by name store.Whereabouts
SELECT d.id::text AS id, rowrun.deployment_elsewhere() AS elsewhere,
       d.system_identifier AS recorded_system, s.system_identifier AS system, d.database_oid AS recorded_database, s.database_oid AS database,
       d.timeline::bigint AS recorded_timeline, s.timeline::bigint AS timeline
FROM rowrun.deployment d, rowrun.server_identity() s
