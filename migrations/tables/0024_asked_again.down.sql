ALTER TABLE rowrun.limit_holder DROP COLUMN asked_again;
COMMENT ON COLUMN rowrun.concurrency_limit.adopted IS 'Internal: whether a pass has counted the runs that were AVAILABLE or RUNNING when it was made.';
