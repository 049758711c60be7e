-- Limits: everybody who inserts runs or asks why they wait reads them; operators write them; passes, claims and ends do the rest.
GRANT SELECT ON rowrun.concurrency_limit, rowrun.limit_holder, rowrun.limit_bucket, rowrun.limit_clock, rowrun.limit_turn, rowrun.limit_database TO rowrun_client, rowrun_viewer, rowrun_replica;
GRANT SELECT ON SEQUENCE rowrun.concurrency_limit_id_seq TO rowrun_client, rowrun_viewer, rowrun_replica; -- whether there has ever been one
GRANT INSERT (name, type, queue, key_path, max_running, rate, per, burst, share, weights, not_before),
    UPDATE (name, type, queue, key_path, max_running, rate, per, burst, share, weights, not_before) ON rowrun.concurrency_limit TO rowrun_operator;
GRANT UPDATE ON rowrun.concurrency_limit TO rowrun_replica;
GRANT INSERT, UPDATE, DELETE ON rowrun.limit_holder, rowrun.limit_bucket, rowrun.limit_clock, rowrun.limit_turn, rowrun.limit_database TO rowrun_replica;
REVOKE ALL ON FUNCTION rowrun.mark_limited(text, boolean), rowrun.concurrency_limit_fill(), rowrun.concurrency_limit_changed(), rowrun.delete_limit(text),
    rowrun.note_limit_databases(bigint[], text[], timestamptz), rowrun.mark_limit_databases(text[], timestamptz),
    rowrun.take_limits(bigint[], timestamptz, boolean), rowrun.redraw_limits(bigint[]), rowrun.free_limits(bigint[]), rowrun.adopt_limits(), rowrun.tidy_limits(),
    rowrun.reopen_available(text[], timestamptz), rowrun.put_limited_aside(bigint[]), rowrun.write_limit_waits(bigint[], text[], text[]),
    rowrun.note_turns(text[], timestamptz), rowrun.fair_look(bigint, bigint, bigint, text, timestamptz, boolean), rowrun.choose_turns_of(bigint, bigint, timestamptz), rowrun.fair_rooms(timestamptz), rowrun.choose_turns(jsonb, timestamptz, integer),
    rowrun.share_alone(bigint[], timestamptz, bigint), rowrun.take_turns(bigint[], boolean), rowrun.follow_turns(bigint[], bigint[]),
    rowrun.follow_limits(text[], text[]), rowrun.admit_available(bigint[], bigint, text[], bigint[], integer[], integer[]), rowrun.admit_for_worker(text[], integer, integer),
    rowrun.claim_available(rowrun.claim_request, bigint, bigint, bigint[], double precision[], integer[], integer[]),
    rowrun.lock_doubtful(bigint[]), rowrun.within_bounds(bigint[], bigint, text[], bigint[], integer[], integer[], bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.mark_limited(text, boolean) TO rowrun_client, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.delete_limit(text) TO rowrun_operator;
GRANT EXECUTE ON FUNCTION rowrun.note_limit_databases(bigint[], text[], timestamptz), rowrun.mark_limit_databases(text[], timestamptz),
    rowrun.take_limits(bigint[], timestamptz, boolean), rowrun.redraw_limits(bigint[]), rowrun.free_limits(bigint[]), rowrun.adopt_limits(), rowrun.tidy_limits(),
    rowrun.reopen_available(text[], timestamptz), rowrun.put_limited_aside(bigint[]), rowrun.write_limit_waits(bigint[], text[], text[]),
    rowrun.note_turns(text[], timestamptz), rowrun.fair_look(bigint, bigint, bigint, text, timestamptz, boolean), rowrun.choose_turns_of(bigint, bigint, timestamptz), rowrun.fair_rooms(timestamptz), rowrun.choose_turns(jsonb, timestamptz, integer),
    rowrun.share_alone(bigint[], timestamptz, bigint), rowrun.take_turns(bigint[], boolean), rowrun.follow_turns(bigint[], bigint[]),
    rowrun.follow_limits(text[], text[]), rowrun.admit_available(bigint[], bigint, text[], bigint[], integer[], integer[]),
    rowrun.claim_available(rowrun.claim_request, bigint, bigint, bigint[], double precision[], integer[], integer[]),
    rowrun.lock_doubtful(bigint[]), rowrun.within_bounds(bigint[], bigint, text[], bigint[], integer[], integer[], bigint) TO rowrun_replica;
