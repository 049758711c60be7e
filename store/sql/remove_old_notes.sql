-- remove_old_notes
-- Removes notes that are older than a week, printed or not.
-- Returns: no row; it changes as many as are removed
DELETE FROM rowrun.stream_note WHERE created_at < clock_timestamp() - interval '7 days'
