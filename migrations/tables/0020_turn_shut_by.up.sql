-- Keys of FAIR limits whose runs another limit holds back are no more in the way of others.
ALTER TABLE rowrun.limit_turn ADD COLUMN shut_by text NOT NULL DEFAULT '';
CREATE INDEX limit_turn_open ON rowrun.limit_turn (limit_id, shut_by, priority DESC, weight, starts_at, limit_key) WHERE priority IS NOT NULL;
COMMENT ON COLUMN rowrun.limit_turn.shut_by IS 'Another limit with a key that the first hundred of its runs need, and that let none go when somebody looked; empty: not known.';
