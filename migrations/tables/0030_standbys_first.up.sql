-- After a promotion the stream goes on without a gap where nothing was told that the new primary doesn't have.
ALTER TABLE rowrun.stream_position ADD COLUMN standbys_first boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN rowrun.stream_position.standbys_first IS 'Whether the server sent nothing that its standbys didn''t have (synchronized_standby_slots, PostgreSQL 17 and later).';
