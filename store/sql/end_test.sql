-- end_test
-- Records how the test of a webhook went.
-- $1 bigint: act
-- $2 text: what went wrong; '': nothing
-- Returns: no row
UPDATE rowrun.act SET state = 'DONE', ended_at = clock_timestamp(), done = CASE $2 WHEN '' THEN 1 ELSE 0 END, failed = CASE $2 WHEN '' THEN 0 ELSE 1 END,
    failures = CASE $2 WHEN '' THEN '[]' ELSE jsonb_build_array(jsonb_build_object('id', targets[1], 'message', left($2, 1000), 'hint', '', 'code', '')) END
WHERE id = $1 AND state = 'RUNNING' AND kind = 'webhook'
