-- Workers: programs of any language that claim runs by functions.

ALTER TABLE rowrun.replica_heartbeat ADD COLUMN worker boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN rowrun.replica_heartbeat.worker IS 'It claims by functions, from any queue: each of its claims has a lease of its own.';
CREATE UNIQUE INDEX replica_heartbeat_worker ON rowrun.replica_heartbeat (name) WHERE worker AND state <> 'DEAD';

CREATE TABLE rowrun.worker_claim (
    claim_hash bytea PRIMARY KEY,
    run_id     bigint NOT NULL,
    lease      interval NOT NULL,
    until      timestamptz NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE rowrun.worker_claim IS 'The runs that workers hold. One index: it is written with each claim, and task_run.claim_hash leads here.';
COMMENT ON COLUMN rowrun.worker_claim.run_id IS 'The run.';
COMMENT ON COLUMN rowrun.worker_claim.claim_hash IS 'SHA-256 of the claim that the worker was given, as in task_run.';
COMMENT ON COLUMN rowrun.worker_claim.lease IS 'By how much a heartbeat prolongs it.';
COMMENT ON COLUMN rowrun.worker_claim.until IS 'When it is over.';

CREATE TABLE rowrun.worker_request (
    request_hash bytea PRIMARY KEY,
    made_at      timestamptz NOT NULL,
    run_ids      bigint[],
    results_hash bigint,
    answer       jsonb
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE rowrun.worker_request IS 'Requests of workers that changed something, for a day: one that is sent again is answered again.';
COMMENT ON COLUMN rowrun.worker_request.request_hash IS 'SHA-256 of the request''s id: whoever knows the id could derive its claims.';
COMMENT ON COLUMN rowrun.worker_request.made_at IS 'When it came first.';
COMMENT ON COLUMN rowrun.worker_request.run_ids IS 'The runs that it was given.';
COMMENT ON COLUMN rowrun.worker_request.results_hash IS 'Of the results that came with it; NULL: it was a claim.';
COMMENT ON COLUMN rowrun.worker_request.answer IS 'What became of the runs that it ended.';
CREATE INDEX worker_request_made ON rowrun.worker_request (made_at);
