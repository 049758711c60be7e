-- notes_printed
-- Records that lines were written for notes.
-- $1 bigint[]: notes
-- Returns: no row
UPDATE rowrun.stream_note SET printed_at = clock_timestamp() WHERE id = ANY ($1)
