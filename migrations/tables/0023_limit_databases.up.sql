-- Runs that wait on a database behind a sequential run go on when a limit comes to hold that one.
CREATE TABLE rowrun.limit_database (
    limit_key   text NOT NULL,
    database_id text NOT NULL,
    PRIMARY KEY (limit_key, database_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE rowrun.limit_database IS 'Internal: databases on which runs wait behind a sequential run that a limit applies to.';
COMMENT ON COLUMN rowrun.limit_database.limit_key IS 'The limit of the sequential run, by its id, and the key.';
COMMENT ON COLUMN rowrun.limit_database.database_id IS 'The database.';
