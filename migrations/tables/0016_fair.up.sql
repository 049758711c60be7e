-- Fair shares: the keys of a limit take turns by weight.
ALTER TABLE rowrun.concurrency_limit
    DROP CONSTRAINT concurrency_limit_share_none_fair_not_yet,
    ADD CONSTRAINT concurrency_limit_share_none_fair CHECK (share = ANY (ARRAY['NONE'::text, 'FAIR'::text])),
    ADD CONSTRAINT concurrency_limit_fair_with_key_path CHECK (share = 'NONE'::text OR key_path IS NOT NULL);
COMMENT ON COLUMN rowrun.concurrency_limit.share IS 'How keys share the slots of replicas: NONE, the order of priority and time alone; FAIR: within a priority they take turns by weight.';
COMMENT ON COLUMN rowrun.concurrency_limit.weights IS 'Weights of keys, from 1 to 1000, where they share; 1 of those that aren''t named.';

CREATE TABLE rowrun.limit_clock (
    limit_id     bigint PRIMARY KEY,
    virtual_time double precision NOT NULL,
    weight       double precision NOT NULL,
    turn         bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE rowrun.limit_clock IS 'Internal: how far the turns of a FAIR limit are.';
COMMENT ON COLUMN rowrun.limit_clock.limit_id IS 'The limit.';
COMMENT ON COLUMN rowrun.limit_clock.virtual_time IS 'How many runs each key with the weight 1 could have started in an even stream.';
COMMENT ON COLUMN rowrun.limit_clock.weight IS 'The sum of the weights of the keys that waited when turns were given last.';
COMMENT ON COLUMN rowrun.limit_clock.turn IS 'How many turns were given.';

CREATE TABLE rowrun.limit_turn (
    limit_key text PRIMARY KEY,
    limit_id  bigint NOT NULL,
    weight    double precision NOT NULL,
    starts_at double precision NOT NULL,
    priority  integer
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX limit_turn_next ON rowrun.limit_turn (limit_id, priority DESC, weight, starts_at, limit_key) WHERE priority IS NOT NULL;
COMMENT ON TABLE rowrun.limit_turn IS 'Internal: the keys of FAIR limits, and when it is their turn.';
COMMENT ON COLUMN rowrun.limit_turn.limit_key IS 'The limit, by its id, and the key.';
COMMENT ON COLUMN rowrun.limit_turn.limit_id IS 'The limit.';
COMMENT ON COLUMN rowrun.limit_turn.weight IS 'Its weight.';
COMMENT ON COLUMN rowrun.limit_turn.starts_at IS 'The virtual time from which on its next run may start.';
COMMENT ON COLUMN rowrun.limit_turn.priority IS 'Of the first of its runs that waits for its turn; NULL: none does.';

ALTER TABLE rowrun.limit_holder ADD COLUMN share_id bigint, ADD COLUMN turn bigint;
CREATE INDEX limit_holder_turn ON rowrun.limit_holder (share_id, turn) WHERE share_id IS NOT NULL;
COMMENT ON COLUMN rowrun.limit_holder.share_id IS 'The limit, where it is the FAIR one in which the run has its turn.';
COMMENT ON COLUMN rowrun.limit_holder.turn IS 'Which turn of the limit it was; NULL: it was made AVAILABLE without one.';
