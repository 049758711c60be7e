-- delete_limit
-- Removes a limit; what it held back goes on.
-- $1 text: name
-- Returns: whether there was one
SELECT rowrun.delete_limit($1)
