-- The next writer tells all of a run that the one before had not seen, also what a transaction did long before it was committed.
ALTER TABLE rowrun.stream_handover ADD COLUMN unseen bigint[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN rowrun.stream_handover.unseen IS 'The lowest and the highest id of each range in which its writer had seen no run.';
