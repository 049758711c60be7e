-- forget_stream_positions
-- Forgets how far the stream was written.
-- Returns: no row
WITH left_behind AS (DELETE FROM rowrun.stream_handover) DELETE FROM rowrun.stream_position
