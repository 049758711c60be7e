DROP TABLE rowrun.limit_database;
