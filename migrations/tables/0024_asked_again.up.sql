-- Claims of AVAILABLE runs that hold their places count nothing: what a limit that was lowered has to ask again is noted.
ALTER TABLE rowrun.limit_holder ADD COLUMN asked_again boolean;
COMMENT ON COLUMN rowrun.limit_holder.asked_again IS 'true: its run was AVAILABLE when the limit was lowered; the claim asks whether it still has a place.';
