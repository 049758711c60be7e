-- promote_next_version
-- Promotes the next version on databases where runs have ended.
-- $1 text[]: databases
-- Returns: how many runs were promoted, how many databases were left to the next pass
SELECT promoted, marked FROM rowrun.promote_next_version($1)
