-- clock
-- The database's clock, by which leases are judged.
-- Returns: the time
SELECT clock_timestamp()
