-- doctor_clock
-- Returns: the database's clock
SELECT clock_timestamp()
