-- stream_history_plan
-- How stream_history is read. No index leads to what has changed last, so the table is read once as it lies: sessions of replicas would
-- read it along an index that serves other things, in 5.2 s instead of 1.8 s for 4,000,000 runs, and with a snapshot for as long.
-- Returns: nothing that is used
SELECT set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true), set_config('enable_indexscan', 'off', true)
