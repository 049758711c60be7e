REVOKE ALL ON ALL TABLES IN SCHEMA rowrun FROM rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer, rowrun_replica;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA rowrun FROM rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer, rowrun_replica;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA rowrun FROM rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer, rowrun_replica;
REVOKE ALL ON SCHEMA rowrun FROM rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer, rowrun_replica;
DELETE FROM rowrun.migration WHERE version = 10;
