-- unprinted_notes
-- The oldest notes that no line of the stream was written for.
-- $1 bigint: how many at most
-- Returns: rows: store.Note, ascending
SELECT id, created_at, level, event, message, detail FROM rowrun.stream_note WHERE printed_at IS NULL ORDER BY id LIMIT $1
