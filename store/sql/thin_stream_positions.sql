-- thin_stream_positions
-- Keeps of the positions of more than an hour ago the newest of each minute, and none beyond a week before the newest of
-- all.
-- Returns: no row
WITH newest AS (SELECT max(second) AS second FROM rowrun.stream_position)
DELETE FROM rowrun.stream_position p USING newest n
WHERE p.second < n.second - interval '7 days'
   OR p.second < n.second - interval '1 hour'
      AND EXISTS (SELECT FROM rowrun.stream_position q
                  WHERE q.second > p.second AND q.second < date_trunc('minute', p.second) + interval '1 minute')
