DROP INDEX rowrun.limit_holder_turn;
ALTER TABLE rowrun.limit_holder DROP COLUMN share_id, DROP COLUMN turn;
DROP TABLE rowrun.limit_turn, rowrun.limit_clock;
UPDATE rowrun.concurrency_limit SET share = 'NONE' WHERE share <> 'NONE';
ALTER TABLE rowrun.concurrency_limit
    DROP CONSTRAINT concurrency_limit_fair_with_key_path,
    DROP CONSTRAINT concurrency_limit_share_none_fair,
    ADD CONSTRAINT concurrency_limit_share_none_fair_not_yet CHECK (share = 'NONE'::text);
COMMENT ON COLUMN rowrun.concurrency_limit.share IS 'How keys share what there is: NONE, the order of priority and time alone.';
COMMENT ON COLUMN rowrun.concurrency_limit.weights IS 'Weights of keys, from 1 to 1000, where they share.';
