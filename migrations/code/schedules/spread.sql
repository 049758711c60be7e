-- By how much the runs of a task's ticks are put off: a part of its spread, which the hash of its id decides. It is the same for
-- each tick, so that ticks keep their distances and their order.
CREATE OR REPLACE FUNCTION rowrun.spread_of(k rowrun.task) RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN k.spread > interval '0'
                THEN floor(extract(epoch FROM k.spread) * 1000000 * ('x' || left(encode(sha256(int8send(k.id)), 'hex'), 8))::bit(32)::bigint / 4294967296)
                     * interval '1 us'
                ELSE interval '0' END;
COMMENT ON FUNCTION rowrun.spread_of(rowrun.task) IS 'Internal: by how much the runs of a task''s ticks are put off.';
