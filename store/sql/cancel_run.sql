-- cancel_run
-- Cancels the last run of a chain, or asks for it where that is RUNNING.
-- $1 bigint: any run of the chain
-- $2 text: reason; '': none
-- Returns: its status afterwards
SELECT rowrun.cancel_run($1, nullif($2, ''))
