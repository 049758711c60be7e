-- Workers: the functions that a worker calls, and nothing else of the schema.
REVOKE ALL ON rowrun.worker_claim, rowrun.worker_request FROM PUBLIC, rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer, rowrun_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowrun.worker_claim, rowrun.worker_request TO rowrun_replica;
REVOKE ALL ON FUNCTION rowrun.worker_claim_of(uuid, bigint), rowrun.register_worker(text, text[], integer, interval), rowrun.worker_problem(uuid, text, text[], integer, interval),
    rowrun.claimed_by_request(uuid), rowrun.take_for_worker(uuid, text, text[], integer, interval, boolean), rowrun.request_key(bytea), rowrun.await_equal_request(bytea),
    rowrun.end_worker_runs(uuid[], bigint[], text[], jsonb[], text[]), rowrun.check_results(jsonb), rowrun.is_uuid(text), rowrun.worker_result(jsonb), rowrun.worker_payload(rowrun.task, rowrun.task_run),
    rowrun.claim_runs(uuid, text, text[], integer, interval), rowrun.heartbeat_worker(text, uuid[]),
    rowrun.finish_runs(uuid, text, jsonb, text[], integer, interval), rowrun.release_runs(uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rowrun.claim_runs(uuid, text, text[], integer, interval), rowrun.heartbeat_worker(text, uuid[]),
    rowrun.finish_runs(uuid, text, jsonb, text[], integer, interval), rowrun.release_runs(uuid[]) TO rowrun_worker, rowrun_replica;
GRANT EXECUTE ON FUNCTION rowrun.report_progress(bigint, uuid, jsonb), rowrun.complete_run(bigint, uuid, jsonb), rowrun.fail_run(bigint, uuid, text) TO rowrun_worker;
