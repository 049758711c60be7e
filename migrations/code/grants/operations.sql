REVOKE ALL ON FUNCTION rowrun.set_replica_paused(text, boolean), rowrun.pause_replica(text), rowrun.resume_replica(text), rowrun.drain_replica(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.pause_replica(text), rowrun.resume_replica(text), rowrun.drain_replica(text) TO rowrun_operator;
REVOKE ALL ON FUNCTION rowrun.renew_deployment(boolean) FROM PUBLIC;
GRANT SELECT ON rowrun.schema_object, rowrun.code_version, rowrun.code_object TO rowrun_client, rowrun_viewer, rowrun_replica;
