-- What a limit holds its runs back by, with a key: the runs that take its places, at most a hundred, and when time opens it.
CREATE OR REPLACE FUNCTION rowrun.limit_stands(limit_key text, t timestamptz)
    RETURNS TABLE (name text, key text, max_running integer, rated boolean, taken bigint, running bigint, tokens double precision, opens_at timestamptz, run_ids jsonb)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT m.name, nullif(substr(limit_stands.limit_key, strpos(limit_stands.limit_key, ':') + 1), ''), m.max_running, m.rated,
           m.max_running - m.places, a.running, m.tokens, CASE WHEN m.held_until > limit_stands.t THEN m.held_until END, a.ids
    FROM rowrun.limit_room(limit_stands.limit_key, limit_stands.t) m
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE x.status = 'RUNNING') AS running, coalesce(to_jsonb((array_agg(x.id ORDER BY x.status DESC, x.id))[1:100]), '[]') AS ids
        FROM (SELECT u.id, u.status FROM rowrun.limit_holder h
              CROSS JOIN LATERAL (SELECT y.id, y.status FROM rowrun.task_run y
                                  WHERE y.id = h.run_id AND coalesce(y.status, '') IN ('AVAILABLE', 'RUNNING') OFFSET 0) u
              WHERE h.limit_key = limit_stands.limit_key LIMIT 20000) x
        WHERE m.max_running IS NOT NULL) a;
END;
COMMENT ON FUNCTION rowrun.limit_stands(text, timestamptz) IS 'Internal: what a limit holds its runs back by.';

-- The causes that limits are. An AVAILABLE run has a place already, but in a limit that was made or lowered since: it waits
-- where as many are RUNNING as may be.
CREATE OR REPLACE FUNCTION rowrun.waits_for_limit(ids bigint[], t timestamptz) RETURNS TABLE (run_id bigint, cause text, message text, detail jsonb)
    LANGUAGE plpgsql STABLE ROWS 10
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    r record;
    l record; -- of the key before
    l_of text;
    called text;
    next_at timestamptz;
    share record;
BEGIN
    IF NOT may_be_limited() THEN
        RETURN;
    END IF;
    FOR r IN
        SELECT s.id, u.status = 'PENDING' AS pending, k.limit_key, coalesce(h.paid, false) AS paid,
               k.limit_key IS NOT DISTINCT FROM (SELECT f.limit_key FROM fair_key(s.limit_keys) f) AS shares
        FROM limited_of(ids) s
        CROSS JOIN LATERAL (SELECT x.status FROM task_run x WHERE x.id = s.id AND coalesce(x.status, '') IN ('PENDING', 'AVAILABLE') OFFSET 0) u
        CROSS JOIN LATERAL unnest(s.limit_keys) k(limit_key)
        LEFT JOIN limit_holder h ON h.run_id = s.id AND h.limit_key = k.limit_key
        ORDER BY k.limit_key, s.id
    LOOP
        IF l_of IS DISTINCT FROM r.limit_key THEN
            SELECT * INTO l FROM limit_stands(r.limit_key, t);
            l_of := r.limit_key;
            called := 'limit ' || l.name || coalesce(' of ' || left(l.key, 100), '');
            next_at := (SELECT m.next_token_at FROM limit_room(r.limit_key, t) m WHERE m.rated AND m.tokens < 0.999999);
        END IF;
        CONTINUE WHEN l.name IS NULL;
        run_id := r.id;
        IF l.opens_at IS NOT NULL THEN
            cause := CASE WHEN l.rated THEN 'RATE_LIMIT' ELSE 'LIMIT' END;
            message := called || ' lets none go before ' || to_char(l.opens_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC';
            detail := jsonb_build_object('limit', l.name, 'key', l.key, 'opens_at', l.opens_at);
            RETURN NEXT;
        END IF;
        IF (CASE WHEN r.pending THEN l.taken >= l.max_running ELSE l.running >= l.max_running END) THEN
            cause := 'LIMIT';
            message := called || ': ' || CASE WHEN r.pending THEN l.taken ELSE l.running END || ' of ' || l.max_running || ' places taken';
            detail := jsonb_build_object('limit', l.name, 'key', l.key, 'max_running', l.max_running, 'run_ids', l.run_ids);
            RETURN NEXT;
        END IF;
        IF r.shares AND r.pending THEN
            SELECT f.slots, f.taken INTO share FROM fair_room(rowrun.limit_id_of(r.limit_key), t) f;
            IF share.taken >= share.slots AND share.slots > 0 THEN -- without any, it has no replica
                cause := 'LIMIT';
                message := called || ': its keys take turns, and runs of it have all ' || share.slots || ' slots';
                detail := jsonb_build_object('limit', l.name, 'key', l.key, 'share', 'FAIR', 'slots', share.slots, 'run_ids',
                    (SELECT coalesce(to_jsonb((array_agg(h.run_id ORDER BY h.run_id))[1:100]), '[]') FROM limit_holder h
                     JOIN task_run x ON x.id = h.run_id AND coalesce(x.status, '') IN ('AVAILABLE', 'RUNNING')
                     WHERE h.share_id = rowrun.limit_id_of(r.limit_key)));
                RETURN NEXT;
            END IF;
        END IF;
        IF l.rated AND NOT r.paid AND l.tokens < 0.999999 THEN
            cause := 'RATE_LIMIT';
            message := called || ': the next token comes at ' || to_char(next_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS') || ' UTC';
            detail := jsonb_build_object('limit', l.name, 'key', l.key, 'next_token_at', next_at);
            RETURN NEXT;
        ELSIF l.rated AND r.pending AND EXISTS (SELECT FROM limit_verdicts(ARRAY[r.id], t, false) v WHERE v.is_full AND v.limit_key = r.limit_key) THEN
            cause := 'RATE_LIMIT';
            message := called || ': no replica that could run it has a free slot, and no token is taken before';
            detail := jsonb_build_object('limit', l.name, 'key', l.key);
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION rowrun.waits_for_limit(bigint[], timestamptz) IS 'Internal: the causes that limits are.';
