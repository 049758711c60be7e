-- takes_writes
-- Whether the server takes writes, whatever this role or session may have been told for itself.
-- Returns: standby; read only by the server's or the database's settings
SELECT pg_is_in_recovery(), EXISTS (SELECT FROM pg_settings s WHERE s.name = 'default_transaction_read_only' AND s.setting = 'on'
                                    AND s.source NOT IN ('user', 'database user', 'client', 'session'))
