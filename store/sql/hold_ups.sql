-- hold_ups
-- Sessions that hold a lock which something of ours goes without or waits for.
-- Returns: up to 20 rows: process id, role ('?': gone), what it keeps from happening;
-- of a prepared transaction: 0, its name, the same
SELECT h.pid, h.username, h.what FROM rowrun.hold_ups() h ORDER BY h.pid, h.what
