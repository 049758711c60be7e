-- doctor_server_start
-- Returns: when the server started, as text
SELECT pg_postmaster_start_time()::text
