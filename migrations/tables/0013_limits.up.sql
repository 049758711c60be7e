-- Limits: how many runs of a type, a queue or a value of their document may be AVAILABLE or RUNNING at once, or start in a time.

CREATE TABLE rowrun.concurrency_limit (
    name        text PRIMARY KEY CONSTRAINT concurrency_limit_name_1_to_200_bytes_no_control CHECK (name <> '' AND octet_length(name) <= 200 AND name !~ '[[:cntrl:]]'),
    type        text CONSTRAINT concurrency_limit_type_1_to_100_bytes CHECK (type <> '' AND octet_length(type) <= 100),
    queue       text CONSTRAINT concurrency_limit_queue_1_to_100_bytes CHECK (queue <> '' AND octet_length(queue) <= 100),
    key_path    text[] CONSTRAINT concurrency_limit_key_path_1_to_20_names CHECK (cardinality(key_path) >= 1 AND cardinality(key_path) <= 20 AND array_ndims(key_path) = 1 AND array_position(key_path, NULL) IS NULL),
    max_running integer CONSTRAINT concurrency_limit_max_running_from_0 CHECK (max_running >= 0),
    rate        integer CONSTRAINT concurrency_limit_rate_from_1 CHECK (rate >= 1),
    per         interval CONSTRAINT concurrency_limit_per_1_ms_to_1_year CHECK (per >= interval '1 ms' AND per <= interval '1 year'),
    burst       integer CONSTRAINT concurrency_limit_burst_from_1 CHECK (burst >= 1),
    share       text NOT NULL DEFAULT 'NONE' CONSTRAINT concurrency_limit_share_none_fair_not_yet CHECK (share = 'NONE'),
    weights     jsonb NOT NULL DEFAULT '{}' CONSTRAINT concurrency_limit_weights_an_object CHECK (jsonb_typeof(weights) = 'object' AND octet_length(weights::text) <= 65536)
        CONSTRAINT concurrency_limit_weights_from_1_to_1000 CHECK (NOT jsonb_path_exists(weights, '$.* ? (@.type() != "number" || @ < 1 || @ > 1000)')),
    not_before  timestamptz CONSTRAINT concurrency_limit_not_before_1900_to_9998 CHECK (not_before >= '1900-01-01 00:00+00' AND not_before < '9999-01-01 00:00+00'),
    created_at  timestamptz NOT NULL DEFAULT now(),
    id          bigint GENERATED ALWAYS AS IDENTITY,
    adopted     boolean NOT NULL DEFAULT false,
    CONSTRAINT concurrency_limit_rate_with_per CHECK ((rate IS NULL) = (per IS NULL)),
    CONSTRAINT concurrency_limit_burst_with_rate CHECK (burst IS NULL OR rate IS NOT NULL)
);
CREATE UNIQUE INDEX concurrency_limit_id ON rowrun.concurrency_limit (id);
COMMENT ON TABLE rowrun.concurrency_limit IS 'How many runs may be AVAILABLE or RUNNING at once, or start in a time: of a type, of a queue, of each value of a key.';
COMMENT ON COLUMN rowrun.concurrency_limit.name IS 'Key.';
COMMENT ON COLUMN rowrun.concurrency_limit.type IS 'Only runs of this type; NULL: of any.';
COMMENT ON COLUMN rowrun.concurrency_limit.queue IS 'Only runs of this queue; NULL: of any.';
COMMENT ON COLUMN rowrun.concurrency_limit.key_path IS 'Where in the payload, with the input laid over it, the key of a run stands: one limit for each value, none for runs without a value. NULL: one limit for all.';
COMMENT ON COLUMN rowrun.concurrency_limit.max_running IS 'Most runs AVAILABLE or RUNNING at once; NULL: no such limit.';
COMMENT ON COLUMN rowrun.concurrency_limit.rate IS 'How many runs may start in "per"; NULL: any number.';
COMMENT ON COLUMN rowrun.concurrency_limit.per IS 'The time of the rate.';
COMMENT ON COLUMN rowrun.concurrency_limit.burst IS 'How many may start at once after a quiet time; NULL: as many as the rate.';
COMMENT ON COLUMN rowrun.concurrency_limit.share IS 'How keys share what there is: NONE, the order of priority and time alone.';
COMMENT ON COLUMN rowrun.concurrency_limit.weights IS 'Weights of keys, from 1 to 1000, where they share.';
COMMENT ON COLUMN rowrun.concurrency_limit.not_before IS 'None of its runs starts before this moment; NULL: it isn''t paused.';
COMMENT ON COLUMN rowrun.concurrency_limit.created_at IS 'When it was inserted.';
COMMENT ON COLUMN rowrun.concurrency_limit.id IS 'Internal: what the keys of runs begin with; another one whenever type, queue or key_path change.';
COMMENT ON COLUMN rowrun.concurrency_limit.adopted IS 'Internal: whether a pass has counted the runs that were AVAILABLE or RUNNING when it was made.';
CREATE TABLE rowrun.limit_holder (
    run_id    bigint NOT NULL,
    limit_key text NOT NULL,
    paid      boolean NOT NULL,
    PRIMARY KEY (run_id, limit_key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX limit_holder_key ON rowrun.limit_holder (limit_key);
COMMENT ON TABLE rowrun.limit_holder IS 'Internal: which runs take a place of which limit; a row counts while its run is AVAILABLE or RUNNING.';
COMMENT ON COLUMN rowrun.limit_holder.run_id IS 'The run.';
COMMENT ON COLUMN rowrun.limit_holder.limit_key IS 'The limit, by its id, and the key.';
COMMENT ON COLUMN rowrun.limit_holder.paid IS 'Whether a token was taken for it; false: it was AVAILABLE before the limit was made.';
CREATE TABLE rowrun.limit_bucket (
    limit_key  text PRIMARY KEY,
    tokens     double precision,
    counted_at timestamptz,
    held_until timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE rowrun.limit_bucket IS 'Internal: the tokens of a rate limit for a key; without a row the bucket is full.';
COMMENT ON COLUMN rowrun.limit_bucket.limit_key IS 'The limit, by its id, and the key.';
COMMENT ON COLUMN rowrun.limit_bucket.tokens IS 'How many there were at counted_at; NULL: it was full.';
COMMENT ON COLUMN rowrun.limit_bucket.counted_at IS 'When they were counted last, by the database''s clock.';
COMMENT ON COLUMN rowrun.limit_bucket.held_until IS 'None is given before this moment: a target asked for that (Retry-After).';
ALTER TABLE rowrun.gate_mark
    ADD COLUMN limit_key text,
    DROP CONSTRAINT gate_mark_kind_check,
    ADD CONSTRAINT gate_mark_kind_check CHECK (kind = ANY (ARRAY['RUN'::text, 'TASK'::text, 'DATABASE'::text, 'PLAN'::text, 'PLAN_CHANGED'::text, 'DEPENDENCY'::text, 'PLAN_FAILED'::text, 'PAUSED'::text, 'NO_REPLICA'::text, 'LIMIT'::text]));
COMMENT ON COLUMN rowrun.gate_mark.limit_key IS 'For LIMIT: a place or a token may have come free there.';
