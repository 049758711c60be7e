-- doctor_vacuum
-- What autovacuum has still to do.
-- Returns: table, live rows, dead rows, seconds since its last vacuum (NULL: never)
SELECT relname, n_live_tup, n_dead_tup,
       extract(epoch FROM clock_timestamp() - greatest(last_vacuum, last_autovacuum))::float8
FROM pg_stat_user_tables WHERE schemaname = 'rowrun' ORDER BY relname
