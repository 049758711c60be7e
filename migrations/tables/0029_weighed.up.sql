-- Passes that give turns sum the weights of those that wait only where one has come, gone or changed.
ALTER TABLE rowrun.limit_clock ADD COLUMN weighed boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN rowrun.limit_clock.weighed IS 'Whether weight still is the sum for the keys that wait, none of which another limit holds.';
