-- Claims of AVAILABLE runs that hold their places count nothing: what a limit that was lowered has to ask again is noted.
ALTER TABLE rowrun.limit_holder ADD COLUMN asked_again boolean;
COMMENT ON COLUMN rowrun.limit_holder.asked_again IS 'true: its run was AVAILABLE when the limit was lowered; the claim asks whether it still has a place.';
COMMENT ON COLUMN rowrun.concurrency_limit.adopted IS 'Internal: whether a pass has counted the runs that were AVAILABLE or RUNNING when it was made, and marked the places of those that were AVAILABLE when it was lowered.';
