-- Turns among the keys of a FAIR limit. What they share are the slots of replicas: as many of its runs are AVAILABLE or RUNNING
-- as there are slots, and who comes next is decided at the promotion. Claims take what is AVAILABLE in the order of turns.
--
-- The algorithm is worst-case fair queueing in virtual time (WF2Q+: Bennett and Zhang 1997; start tags as in SFQ: Goyal, Vin and
-- Cheng 1996), for packets of one size. Virtual time goes on by 1 / (the sum of the weights of the keys that wait) with each turn. The n-th
-- run of a key may start from a virtual time on (limit_turn.starts_at), and is to start within 1 / weight of that: of those that may,
-- the one whose time ends first does. Start tags alone have keys of a small weight, which came together, take their turns
-- in a row, before one of a large weight. A key that comes begins at the virtual time there is: it makes up for no time without runs.
-- A turn that is given ahead of its time takes virtual time there, and a key that waited behind higher priorities makes up
-- for one run at most. So no key is ever further than one run from virtual time, in either direction.
-- Keys of one weight are served in the order of their tags, so that each weight is one line, and a turn compares as many as there are weights.
--
-- All of it is written under the lock of the passes, and with the limit's row in limit_clock: where who deletes the limit holds that, no turns are given.

-- The FAIR limit among these keys in which a run takes its turn: the first. Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.fair_key(limit_keys text[]) RETURNS TABLE (limit_key text) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT u.limit_key FROM unnest(fair_key.limit_keys) WITH ORDINALITY u(limit_key, n)
    JOIN rowrun.concurrency_limit l ON l.id = rowrun.limit_id_of(u.limit_key) AND l.share = 'FAIR'
    ORDER BY u.n LIMIT 1;
END;
COMMENT ON FUNCTION rowrun.fair_key(text[]) IS 'Internal: the key with which a run takes its turn.';

-- How many slots the keys of a limit share, and how many of these are taken. What the app has (202) takes none, nor what is AVAILABLE
-- and can't be claimed now. A worker has as many as it asks for: it counts as twenty.
CREATE OR REPLACE FUNCTION rowrun.fair_room(limit_id bigint, t timestamptz) RETURNS TABLE (slots bigint, taken bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT s.slots, (SELECT count(*) FROM (
               SELECT FROM rowrun.limit_holder h
               CROSS JOIN LATERAL (SELECT x.status, x.replica_id, x.task_id, x.plan_id, x.queue, x.type, x.database_id, x.limit_wait FROM rowrun.task_run x
                                   WHERE x.id = h.run_id AND coalesce(x.status, '') IN ('AVAILABLE', 'RUNNING') OFFSET 0) x
               WHERE h.share_id = fair_room.limit_id
                 AND CASE WHEN x.status = 'RUNNING' THEN x.replica_id IS NOT NULL
                          ELSE x.limit_wait IS NULL AND EXISTS (
                              SELECT FROM rowrun.task k LEFT JOIN rowrun.plan p ON p.id = k.plan_id
                              WHERE k.id = x.task_id AND NOT k.paused AND NOT k.skipped AND p.paused IS NOT TRUE
                                AND EXISTS (SELECT FROM rowrun.replica_heartbeat b WHERE rowrun.takes(b, fair_room.t, x.queue, x.type, x.database_id, k.payload))) END
               LIMIT s.slots) a)
    FROM rowrun.concurrency_limit l
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(CASE WHEN h.worker THEN 20 ELSE h.concurrency END), 0)::bigint AS slots FROM rowrun.replica_heartbeat h
        WHERE h.state = 'ACTIVE' AND h.last_heartbeat + h.lease > fair_room.t AND h.role = 'worker'
          AND (l.queue IS NULL OR l.queue = ANY (h.queues) OR h.worker) AND (l.type IS NULL OR l.type = ANY (h.types))) s
    WHERE l.id = fair_room.limit_id;
END;
COMMENT ON FUNCTION rowrun.fair_room(bigint, timestamptz) IS 'Internal: how many slots the keys of a limit share.';

-- Of these keys those of FAIR limits: which of them wait, and with which priority. One that a limit of its own lets none go of
-- doesn't, until a mark says that there is room.
CREATE OR REPLACE FUNCTION rowrun.note_turns(limit_keys text[], t timestamptz) RETURNS void LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    locked bigint[];
BEGIN
    INSERT INTO limit_clock (limit_id, virtual_time, weight, turn)
    SELECT l.id, 0, 1, 0 FROM concurrency_limit l WHERE l.share = 'FAIR' AND NOT EXISTS (SELECT FROM limit_clock c WHERE c.limit_id = l.id)
    ON CONFLICT DO NOTHING;
    locked := ARRAY(SELECT c.limit_id FROM limit_clock c WHERE c.limit_id IN (SELECT rowrun.limit_id_of(u.limit_key) FROM unnest(note_turns.limit_keys) u(limit_key))
                    ORDER BY c.limit_id FOR NO KEY UPDATE SKIP LOCKED);
    INSERT INTO gate_mark (kind, limit_key)
    SELECT DISTINCT 'LIMIT', u.limit_key FROM unnest(note_turns.limit_keys) u(limit_key) JOIN limit_clock c ON c.limit_id = rowrun.limit_id_of(u.limit_key)
    WHERE c.limit_id <> ALL (locked);
    -- What stands already is left out before the INSERT, which would lock its row.
    INSERT INTO limit_turn AS o (limit_key, limit_id, weight, starts_at, priority)
    SELECT k.limit_key, k.limit_id, k.weight, k.virtual_time, k.priority
    FROM (SELECT d.limit_key, l.id AS limit_id, coalesce((l.weights ->> substr(d.limit_key, strpos(d.limit_key, ':') + 1))::double precision, 1) AS weight, c.virtual_time,
                 CASE WHEN (m.held_until > note_turns.t) IS NOT TRUE AND (m.places <= 0) IS NOT TRUE AND (NOT m.rated OR m.tokens > 0.999998) IS NOT FALSE
                      THEN w.priority END AS priority, w.priority IS NOT NULL AS waits
          FROM (SELECT DISTINCT u.limit_key FROM unnest(note_turns.limit_keys) u(limit_key)) d
          CROSS JOIN LATERAL (SELECT * FROM concurrency_limit x WHERE x.id = rowrun.limit_id_of(d.limit_key) AND x.share = 'FAIR' OFFSET 0) l
          CROSS JOIN LATERAL (SELECT x.virtual_time FROM limit_clock x WHERE x.limit_id = l.id AND x.limit_id = ANY (locked) OFFSET 0) c
          LEFT JOIN LATERAL limit_room(d.limit_key, note_turns.t) m ON num_nonnulls(l.max_running, l.rate, l.not_before) > 0 -- otherwise its keys share slots alone
          LEFT JOIN LATERAL (SELECT r.priority FROM task_run r WHERE r.limit_wait = d.limit_key AND r.status = 'PENDING'
                             ORDER BY r.priority DESC, r.run_at, r.id LIMIT 1) w ON true) k
    LEFT JOIN LATERAL (SELECT x.weight, x.priority, x.shut_by FROM limit_turn x WHERE x.limit_key = k.limit_key OFFSET 0) y ON true
    WHERE (k.waits OR y.priority IS NOT NULL) AND (y.weight, y.priority, y.shut_by) IS DISTINCT FROM (k.weight, k.priority, '')
    ON CONFLICT (limit_key) DO UPDATE
    SET weight = excluded.weight, priority = excluded.priority, shut_by = '',
        starts_at = least(CASE WHEN o.priority IS NULL THEN greatest(o.starts_at, excluded.starts_at) ELSE o.starts_at END,
                          excluded.starts_at + 1 / excluded.weight); -- otherwise it would owe a turn of the weight that it had
    IF FOUND THEN
        UPDATE limit_clock c SET weighed = false WHERE c.limit_id = ANY (locked) AND c.weighed;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.note_turns(text[], timestamptz) IS 'Internal: which keys of FAIR limits wait for their turn.';

-- Which of these limits, each with a key, let none go at t. In PL/pgSQL, as functions in SQL that
-- don't become part of a statement are planned in each that calls them.
CREATE OR REPLACE FUNCTION rowrun.shut_limits(limit_keys text[], t timestamptz) RETURNS TABLE (limit_key text) LANGUAGE plpgsql STABLE
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF cardinality(limit_keys) > 0 THEN
        RETURN QUERY
        SELECT d.limit_key FROM unnest(shut_limits.limit_keys) d(limit_key) CROSS JOIN LATERAL limit_room(d.limit_key, shut_limits.t) m
        WHERE m.held_until > shut_limits.t OR m.places <= 0 OR m.rated AND m.tokens < 0.999999;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.shut_limits(text[], timestamptz) IS 'Internal: which limits let none go.';

-- The first runs of a limit whose turn may be next: of each priority and weight as many keys as there may be turns, and some more, of each key
-- as many runs (bound; room: as many as may go with it), each the n-th. id NULL: a key without a run that could go. Keys that another
-- limit holds (limit_turn.shut_by) are left out, unless that lets one go: of a thousand such limits it is asked whether they do, behind a label; NULL: of none.
-- Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.fair_heads(limit_id bigint, most bigint, extra bigint, label text, t timestamptz)
    RETURNS TABLE (limit_key text, weight double precision, starts_at double precision, room bigint, bound bigint, id bigint, priority integer, limit_keys text[], n bigint)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH RECURSIVE label AS (
        (SELECT x.shut_by, 1 AS n FROM rowrun.limit_turn x
         WHERE x.limit_id = fair_heads.limit_id AND x.priority IS NOT NULL AND x.shut_by > fair_heads.label
         ORDER BY x.limit_id, x.shut_by LIMIT 1)
        UNION ALL
        SELECT y.shut_by, l.n + 1 FROM label l
        CROSS JOIN LATERAL (
            SELECT x.shut_by FROM rowrun.limit_turn x
            WHERE x.limit_id = fair_heads.limit_id AND x.priority IS NOT NULL AND x.shut_by > l.shut_by
            ORDER BY x.limit_id, x.shut_by LIMIT 1) y
        WHERE l.n < 1000
    ), part AS MATERIALIZED (
        SELECT '' AS shut_by
        UNION ALL
        SELECT l.shut_by FROM label l
        WHERE NOT EXISTS (SELECT FROM rowrun.shut_limits(ARRAY[l.shut_by], fair_heads.t))
    ), line AS (
        SELECT p.shut_by, y.priority, y.weight, 1 AS n FROM part p
        CROSS JOIN LATERAL (
            SELECT x.priority, x.weight FROM rowrun.limit_turn x
            WHERE x.limit_id = fair_heads.limit_id AND x.shut_by = p.shut_by AND x.priority IS NOT NULL
            ORDER BY x.limit_id, x.shut_by, x.priority DESC, x.weight LIMIT 1) y
        UNION ALL
        SELECT l.shut_by, y.priority, y.weight, l.n + 1 FROM line l
        CROSS JOIN LATERAL (
            (SELECT x.priority, x.weight FROM rowrun.limit_turn x
             WHERE x.limit_id = fair_heads.limit_id AND x.shut_by = l.shut_by AND x.priority IS NOT NULL AND x.priority = l.priority AND x.weight > l.weight
             ORDER BY x.limit_id, x.shut_by, x.priority DESC, x.weight LIMIT 1)
            UNION ALL
            (SELECT x.priority, x.weight FROM rowrun.limit_turn x
             WHERE x.limit_id = fair_heads.limit_id AND x.shut_by = l.shut_by AND x.priority IS NOT NULL AND x.priority < l.priority
             ORDER BY x.limit_id, x.shut_by, x.priority DESC, x.weight LIMIT 1)
            LIMIT 1) y
        WHERE l.n < 1000
    ), key AS MATERIALIZED (
        SELECT k.limit_key, l.priority, l.weight, greatest(k.starts_at, v.virtual_time - 1 / l.weight) AS starts_at,
               CASE WHEN c.max_running IS NULL AND c.rate IS NULL AND c.not_before IS NULL THEN fair_heads.most
                    ELSE (SELECT CASE WHEN m.held_until > fair_heads.t THEN 0
                                      ELSE greatest(least(m.places, fair_heads.most, CASE WHEN m.rated THEN floor(m.tokens + 0.000001)::bigint END), 0) END
                          FROM rowrun.limit_room(k.limit_key, fair_heads.t) m) END AS room
        FROM rowrun.concurrency_limit c JOIN rowrun.limit_clock v ON v.limit_id = c.id CROSS JOIN line l
        CROSS JOIN LATERAL (SELECT x.limit_key, x.starts_at FROM rowrun.limit_turn x
                            WHERE x.limit_id = fair_heads.limit_id AND x.shut_by = l.shut_by AND x.priority IS NOT NULL
                              AND x.priority = l.priority AND x.weight = l.weight
                            ORDER BY x.limit_id, x.shut_by, x.priority DESC, x.weight, x.starts_at, x.limit_key LIMIT fair_heads.most + fair_heads.extra) k
        WHERE c.id = fair_heads.limit_id
    ), wanted AS MATERIALIZED (
        SELECT k.limit_key, k.weight, k.starts_at, k.room, least(k.room, ceil(fair_heads.most * k.weight / sum(k.weight) OVER (ORDER BY k.priority DESC))::bigint + 1) AS bound
        FROM key k
    )
    SELECT k.limit_key, k.weight, k.starts_at, k.room, k.bound, r.id, r.priority, r.limit_keys, r.n FROM wanted k
    LEFT JOIN LATERAL (
        SELECT w.*, row_number() OVER () AS n FROM (
            SELECT q.id, q.priority, q.limit_keys FROM rowrun.task_run q WHERE q.limit_wait = k.limit_key AND q.status = 'PENDING'
            ORDER BY q.priority DESC, q.run_at, q.id LIMIT k.bound) w) r ON true;
END;
COMMENT ON FUNCTION rowrun.fair_heads(bigint, bigint, bigint, text, timestamptz) IS 'Internal: the first runs of a limit whose turn may be next.';

-- The same where runs may have other limits: those that one of these holds are passed over. A key with nothing but these among its first hundred is told of,
-- with the other limit that all of them need, if it is one (id NULL, shut_by), so that it isn't asked again before that lets
-- one go; and one without a run that could go (id and shut_by NULL).
-- A run with a shut_by is the last of its key that was looked at: there may be more.
CREATE OR REPLACE FUNCTION rowrun.fair_items(limit_id bigint, most bigint, extra bigint, label text, t timestamptz)
    RETURNS TABLE (id bigint, priority integer, weight double precision, starts_at double precision, n bigint, limit_key text, shut_by text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH first AS MATERIALIZED (
        SELECT h.limit_key, h.weight, h.starts_at, h.room, h.bound AS most, h.id, h.priority, h.limit_keys, h.n
        FROM rowrun.fair_heads(fair_items.limit_id, fair_items.most, fair_items.extra, fair_items.label, fair_items.t) h
    ), shut AS MATERIALIZED (
        SELECT coalesce(array_agg(x.limit_key), '{}') AS keys FROM rowrun.shut_limits(ARRAY(
            SELECT DISTINCT u.limit_key FROM first i CROSS JOIN LATERAL unnest(i.limit_keys) u(limit_key)
            WHERE cardinality(i.limit_keys) > 1 AND u.limit_key <> i.limit_key), fair_items.t) x
    ), stuck AS MATERIALIZED (
        SELECT i.limit_key, i.weight, i.starts_at, i.room, i.most FROM first i CROSS JOIN shut s
        GROUP BY i.limit_key, i.weight, i.starts_at, i.room, i.most HAVING bool_and(cardinality(i.limit_keys) > 1 AND i.limit_keys && s.keys)
    ), second AS MATERIALIZED (
        SELECT k.*, r.id, r.priority, r.limit_keys, r.n FROM stuck k
        CROSS JOIN LATERAL (
            SELECT w.*, row_number() OVER () AS n FROM (
                SELECT q.id, q.priority, q.limit_keys FROM rowrun.task_run q WHERE q.limit_wait = k.limit_key AND q.status = 'PENDING'
                ORDER BY q.priority DESC, q.run_at, q.id LIMIT greatest(k.most, 100)) w) r
    ), shut_too AS MATERIALIZED (
        SELECT s.keys || coalesce(array_agg(x.limit_key), '{}') AS keys FROM shut s LEFT JOIN LATERAL rowrun.shut_limits(ARRAY(
            SELECT DISTINCT u.limit_key FROM second i CROSS JOIN LATERAL unnest(i.limit_keys) u(limit_key)
            WHERE cardinality(i.limit_keys) > 1 AND u.limit_key <> i.limit_key AND u.limit_key <> ALL (s.keys)), fair_items.t) x ON true
        GROUP BY s.keys
    ), open AS MATERIALIZED (
        SELECT i.limit_key, i.weight, i.starts_at, i.room, i.most, i.id, i.priority, i.n FROM first i CROSS JOIN shut s
        WHERE (cardinality(i.limit_keys) > 1 AND i.limit_keys && s.keys) IS NOT TRUE
        UNION ALL
        SELECT i.limit_key, i.weight, i.starts_at, i.room, i.most, i.id, i.priority, i.n FROM second i CROSS JOIN shut_too s
        WHERE (cardinality(i.limit_keys) > 1 AND i.limit_keys && s.keys) IS NOT TRUE
    )
    SELECT i.id, i.priority, i.weight, i.starts_at + (i.n - 1) / i.weight AS starts_at, i.n, i.limit_key, CASE WHEN i.n = i.most AND i.most < i.room THEN '' END AS shut_by
    FROM (SELECT o.id, o.priority, o.weight, o.starts_at, o.limit_key, o.room, o.most, row_number() OVER (PARTITION BY o.limit_key ORDER BY o.n) AS n FROM open o) i
    WHERE i.n <= i.most OR i.id IS NULL
    UNION ALL
    SELECT NULL::bigint AS id, NULL::integer AS priority, k.weight, k.starts_at, NULL::bigint AS n, k.limit_key,
           coalesce((SELECT u.limit_key FROM second i CROSS JOIN LATERAL unnest(i.limit_keys) u(limit_key)
                     WHERE i.limit_key = k.limit_key AND u.limit_key = ANY (s.keys) GROUP BY 1
                     HAVING count(*) = (SELECT count(*) FROM second a WHERE a.limit_key = k.limit_key) ORDER BY 1 LIMIT 1), '') AS shut_by
    FROM stuck k CROSS JOIN shut_too s WHERE NOT EXISTS (SELECT FROM open o WHERE o.limit_key = k.limit_key);
END;
COMMENT ON FUNCTION rowrun.fair_items(bigint, bigint, bigint, text, timestamptz) IS 'Internal: the runs of a limit whose turn may be next.';

-- What fair_items tells; plain: no run has another limit that could hold it, so that nothing is passed over. A large plan takes as long to start as this
-- one does as a whole.
CREATE OR REPLACE FUNCTION rowrun.fair_look(limit_id bigint, most bigint, extra bigint, label text, t timestamptz, plain boolean)
    RETURNS TABLE (id bigint, priority integer, weight double precision, starts_at double precision, n bigint, limit_key text, shut_by text)
    LANGUAGE plpgsql STABLE
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF fair_look.plain THEN
        RETURN QUERY SELECT h.id, h.priority, h.weight, h.starts_at + (coalesce(h.n, 1) - 1) / h.weight, h.n, h.limit_key, CASE WHEN h.n = h.bound AND h.bound < h.room THEN '' END
                     FROM fair_heads(fair_look.limit_id, fair_look.most, fair_look.extra, NULL, fair_look.t) h;
    ELSE
        RETURN QUERY SELECT i.id, i.priority, i.weight, i.starts_at, i.n, i.limit_key, i.shut_by
                     FROM fair_items(fair_look.limit_id, fair_look.most, fair_look.extra, fair_look.label, fair_look.t) i;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.fair_look(bigint, bigint, bigint, text, timestamptz, boolean) IS 'Internal: the runs of a limit whose turn may be next.';

-- Whose turn it is, of one limit: as many runs as there is room for, in this order. Nothing is charged yet: who goes is charged by
-- take_turns.
CREATE OR REPLACE FUNCTION rowrun.choose_turns_of(limit_id bigint, room bigint, t timestamptz) RETURNS bigint[] LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    chosen bigint[] := '{}';
    ids bigint[];
    priorities integer[];
    weights double precision[];
    starts double precision[];
    lasts boolean[]; -- of its key nothing behind it was looked at
    heads integer[] := '{}'; -- where each line stands
    ends integer[] := '{}';
    empty text[];
    stuck text[];
    shut_bys text[];
    labels bigint := 0;
    label text;
    plain boolean;
    changed boolean := false;
    weighed boolean; -- nobody has come or gone since the weights were summed
    v double precision; -- the virtual time
    waiting_weight double precision; -- of the keys that wait
    best integer;
    best_late boolean; -- its virtual time hasn't come
    best_at double precision;
    late boolean;
    at double precision;
BEGIN
    SELECT c.virtual_time, c.weighed, c.weight,
           NOT EXISTS (SELECT FROM concurrency_limit o JOIN concurrency_limit l ON (o.type = l.type) IS NOT FALSE AND (o.queue = l.queue) IS NOT FALSE
                       WHERE l.id = c.limit_id AND o.id <> l.id)
    INTO v, weighed, waiting_weight, plain FROM limit_clock c WHERE c.limit_id = choose_turns_of.limit_id FOR NO KEY UPDATE SKIP LOCKED;
    IF weighed IS FALSE THEN
        SELECT sum(x.weight), count(*) FILTER (WHERE x.shut_by > '') INTO waiting_weight, labels
        FROM (SELECT w.weight, w.shut_by FROM limit_turn w WHERE w.limit_id = choose_turns_of.limit_id AND w.priority IS NOT NULL LIMIT 20000) x;
        IF labels = 0 AND EXISTS (SELECT FROM limit_turn w WHERE w.limit_id = choose_turns_of.limit_id AND w.priority IS NOT NULL AND w.shut_by > '') THEN
            labels := 1; -- among more keys than are summed
        END IF;
    END IF;
    IF v IS NULL OR waiting_weight IS NULL THEN RETURN chosen; END IF;
    IF labels > 1000 THEN -- begin with one of them
        label := (SELECT w.shut_by FROM limit_turn w WHERE w.limit_id = choose_turns_of.limit_id AND w.priority IS NOT NULL AND w.shut_by > ''
                  ORDER BY w.limit_id, w.shut_by OFFSET floor(random() * labels)::bigint LIMIT 1);
    END IF;
    -- Keys that others hold were in the way of those behind them.
    FOR look IN 1..20 LOOP
        SELECT array_agg(f.id ORDER BY f.priority DESC, f.weight DESC, f.starts_at, f.limit_key, f.n) FILTER (WHERE f.id IS NOT NULL),
               array_agg(f.priority ORDER BY f.priority DESC, f.weight DESC) FILTER (WHERE f.id IS NOT NULL),
               array_agg(f.weight ORDER BY f.priority DESC, f.weight DESC) FILTER (WHERE f.id IS NOT NULL),
               array_agg(f.starts_at ORDER BY f.priority DESC, f.weight DESC, f.starts_at, f.limit_key, f.n) FILTER (WHERE f.id IS NOT NULL),
               array_agg(f.shut_by IS NOT NULL ORDER BY f.priority DESC, f.weight DESC, f.starts_at, f.limit_key, f.n) FILTER (WHERE f.id IS NOT NULL),
               array_agg(f.limit_key) FILTER (WHERE f.id IS NULL AND f.shut_by IS NULL),
               array_agg(f.limit_key) FILTER (WHERE f.id IS NULL AND f.shut_by IS NOT NULL),
               array_agg(f.shut_by) FILTER (WHERE f.id IS NULL AND f.shut_by IS NOT NULL)
        INTO ids, priorities, weights, starts, lasts, empty, stuck, shut_bys
        FROM fair_look(choose_turns_of.limit_id, room, CASE look WHEN 1 THEN 0 ELSE 100 END, coalesce(label, ''), t, plain AND labels = 0) f;
        EXIT WHEN num_nonnulls(empty, stuck) = 0;
        changed := true;
        IF empty IS NOT NULL THEN -- a mark says when there is somebody again
            UPDATE limit_turn w SET priority = NULL WHERE w.limit_key = ANY (empty);
        END IF;
        UPDATE limit_turn w SET shut_by = s.shut_by FROM unnest(stuck, shut_bys) s(limit_key, shut_by)
        WHERE w.limit_key = s.limit_key AND w.shut_by <> s.shut_by;
        EXIT WHEN NOT FOUND AND look > 1 OR cardinality(ids) >= room;
    END LOOP;
    IF changed AND weighed THEN
        UPDATE limit_clock c SET weighed = false WHERE c.limit_id = choose_turns_of.limit_id;
    END IF;
    FOR i IN 1..coalesce(cardinality(ids), 0) LOOP
        IF i = 1 OR priorities[i] <> priorities[i - 1] OR weights[i] <> weights[i - 1] THEN
            heads := heads || i;
            ends := ends || i;
        ELSE
            ends[cardinality(ends)] := i;
        END IF;
    END LOOP;
    WHILE cardinality(chosen) < room LOOP
        best := NULL;
        FOR i IN 1..cardinality(heads) LOOP
            CONTINUE WHEN heads[i] > ends[i];
            EXIT WHEN best IS NOT NULL AND priorities[heads[i]] < priorities[heads[best]];
            late := starts[heads[i]] > v + 1e-9;
            at := CASE WHEN late THEN starts[heads[i]] ELSE starts[heads[i]] + 1 / weights[heads[i]] END;
            IF best IS NULL OR best_late AND NOT late OR late = best_late AND at < best_at THEN
                best := i;
                best_late := late;
                best_at := at;
            END IF;
        END LOOP;
        EXIT WHEN best IS NULL;
        IF chosen = '{}' AND NOT weighed THEN
            UPDATE limit_clock c SET weight = waiting_weight, weighed = labels = 0 AND NOT changed WHERE c.limit_id = choose_turns_of.limit_id;
        END IF;
        chosen := chosen || ids[heads[best]];
        EXIT WHEN lasts[heads[best]]; -- whose turn comes next isn't known: it is another pass's
        v := greatest(v, starts[heads[best]]) + 1 / waiting_weight;
        heads[best] := heads[best] + 1;
    END LOOP;
    RETURN chosen;
END $$;
COMMENT ON FUNCTION rowrun.choose_turns_of(bigint, bigint, timestamptz) IS 'Internal: whose turn it is, of one limit.';

-- How many slots of each FAIR limit are free, by its id; NULL: there is no such limit.
CREATE OR REPLACE FUNCTION rowrun.fair_rooms(t timestamptz) RETURNS jsonb LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    RETURN (SELECT jsonb_object_agg(c.id, r.slots - r.taken) FROM concurrency_limit c CROSS JOIN LATERAL fair_room(c.id, t) r WHERE c.share = 'FAIR');
END $$;
COMMENT ON FUNCTION rowrun.fair_rooms(timestamptz) IS 'Internal: how many slots of FAIR limits are free.';

-- Whose turn it is, of all FAIR limits, with these rooms (fair_rooms).
CREATE OR REPLACE FUNCTION rowrun.choose_turns(rooms jsonb, t timestamptz, most integer) RETURNS bigint[] LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    l record;
    chosen bigint[] := '{}';
BEGIN
    FOR l IN SELECT e.key::bigint AS id, e.value::bigint AS room FROM jsonb_each_text(rooms) e ORDER BY 1 LOOP
        IF least(l.room, most - cardinality(chosen)) > 0 THEN
            chosen := chosen || choose_turns_of(l.id, least(l.room, most - cardinality(chosen)), choose_turns.t);
        END IF;
    END LOOP;
    RETURN chosen;
END $$;
COMMENT ON FUNCTION rowrun.choose_turns(jsonb, timestamptz, integer) IS 'Internal: whose turn it is, of all FAIR limits.';

-- Of these runs, each of which has its turn and is locked: that their turn is all they wait for, so that there is nothing to judge them
-- against. Their keys, and the moment as of which that is so (see judge); NULL: of some that can't be said. Every gate of closed_gate is asked for, or can't be closed, as they have neither
-- plan nor database; so is what limit_verdicts and busy_limits ask of a limit that has no more than turns.
CREATE OR REPLACE FUNCTION rowrun.share_alone(run_ids bigint[], t timestamptz, last_mark bigint, OUT limit_keys text[], OUT judged_at timestamptz) LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    n bigint;
BEGIN
    WITH moment AS MATERIALIZED (
        SELECT greatest(share_alone.t, max(m.at)) AS t FROM gate_mark m WHERE m.id > last_mark
    ), ready AS MATERIALIZED (
        SELECT s.limit_keys[1] AS limit_key
        FROM moment CROSS JOIN task_run r JOIN task k ON k.id = r.task_id CROSS JOIN LATERAL limits_on(r, k.payload) s
        WHERE r.id = ANY (run_ids) AND num_nonnulls(r.plan_id, r.database_id, r.after) = 0 AND r.run_at <= moment.t AND own_cause(k, r.missed_at, moment.t) IS NULL
          AND r.limit_keys = s.limit_keys AND cardinality(s.limit_keys) = 1
          AND (SELECT l.share = 'FAIR' AND num_nonnulls(l.max_running, l.rate, l.not_before) = 0 FROM concurrency_limit l WHERE l.id = rowrun.limit_id_of(s.limit_keys[1]))
          AND (SELECT true FROM limit_bucket b WHERE b.limit_key = s.limit_keys[1]) IS NULL
          AND (SELECT true FROM replica_heartbeat h WHERE takes(h, moment.t, r.queue, r.type, NULL, k.payload) LIMIT 1)
    )
    SELECT count(*), array_agg(DISTINCT r.limit_key), (SELECT moment.t FROM moment) INTO n, limit_keys, judged_at FROM ready r;
    IF n < cardinality(run_ids) THEN
        limit_keys := NULL;
    END IF;
END $$;
COMMENT ON FUNCTION rowrun.share_alone(bigint[], timestamptz, bigint) IS 'Internal: that runs wait for their turn and nothing else.';

-- Charges the keys of runs that were promoted, in the order of their turns. Virtual time goes on with each turn, from where the turn
-- may start at the earliest: what is due by then is the largest of what follows from each of them. alone: they take their places here, as they
-- have no limit but the one whose turn it is (share_alone). Returns false where a limit has been made or changed since, so that they may have another: then nothing was done.
CREATE OR REPLACE FUNCTION rowrun.take_turns(run_ids bigint[], alone boolean) RETURNS boolean LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    n bigint;
    changed bigint[]; -- of these limits a key waits no more
BEGIN
    WITH placed AS MATERIALIZED (
        SELECT o.id AS run_id, h.limit_key, h.share_id, o.n
        FROM unnest(run_ids) WITH ORDINALITY o(id, n)
        CROSS JOIN LATERAL (
            SELECT x.limit_key, x.share_id FROM limit_holder x WHERE NOT take_turns.alone AND x.run_id = o.id AND x.share_id IS NOT NULL
            UNION ALL
            SELECT r.limit_keys[1], rowrun.limit_id_of(r.limit_keys[1]) FROM task_run r WHERE take_turns.alone AND r.id = o.id) h
    ), gone AS MATERIALIZED (
        SELECT p.run_id, p.limit_key, p.share_id, k.starts_at, k.weight,
               row_number() OVER (PARTITION BY p.share_id ORDER BY p.n) AS n, row_number() OVER (PARTITION BY p.limit_key ORDER BY p.n) AS nth
        FROM placed p
        LEFT JOIN LATERAL (SELECT greatest(w.starts_at, c.virtual_time - 1 / w.weight) AS starts_at, w.weight
                           FROM limit_turn w JOIN limit_clock c ON c.limit_id = w.limit_id WHERE w.limit_key = p.limit_key OFFSET 0) k ON true
        WHERE NOT take_turns.alone OR NOT EXISTS (SELECT FROM concurrency_limit l WHERE NOT l.adopted)
    ), clock AS (
        UPDATE limit_clock c
        SET turn = c.turn + w.n,
            virtual_time = greatest(c.virtual_time + w.n / greatest(c.weight, 1),
                                    (SELECT max(g.starts_at + (g.nth - 1) / g.weight + (w.n - g.n + 1) / greatest(c.weight, 1)) FROM gone g WHERE g.share_id = c.limit_id))
        FROM (SELECT g.share_id, count(*) AS n FROM gone g GROUP BY 1) w WHERE c.limit_id = w.share_id RETURNING c.limit_id, c.turn - w.n AS before
    ), numbered AS (
        UPDATE limit_holder h SET turn = c.before + g.n FROM gone g, clock c
        WHERE NOT take_turns.alone AND c.limit_id = g.share_id AND h.run_id = g.run_id AND h.limit_key = g.limit_key
    ), held AS (
        INSERT INTO limit_holder (run_id, limit_key, paid, share_id, asked_again, turn)
        SELECT g.run_id, g.limit_key, true, g.share_id, false, c.before + g.n FROM gone g LEFT JOIN clock c ON c.limit_id = g.share_id WHERE take_turns.alone
        ON CONFLICT (run_id, limit_key) DO UPDATE SET paid = true, share_id = excluded.share_id, asked_again = false, turn = excluded.turn
    ), charged AS (
        UPDATE limit_turn w
        SET starts_at = k.starts_at + k.n / w.weight, shut_by = '',
            priority = (SELECT r.priority FROM task_run r WHERE r.limit_wait = w.limit_key AND r.status = 'PENDING' ORDER BY r.priority DESC, r.run_at, r.id LIMIT 1)
        FROM (SELECT g.limit_key, min(g.starts_at) AS starts_at, count(*) AS n FROM gone g GROUP BY 1) k
        WHERE w.limit_key = k.limit_key RETURNING w.limit_id, w.priority
    )
    SELECT (SELECT count(*) FROM gone), array_agg(DISTINCT c.limit_id) INTO n, changed FROM charged c WHERE c.priority IS NULL;
    IF changed IS NOT NULL THEN
        UPDATE limit_clock c SET weighed = false WHERE c.limit_id = ANY (changed) AND c.weighed;
    END IF;
    RETURN NOT take_turns.alone OR n = cardinality(run_ids);
END $$;
COMMENT ON FUNCTION rowrun.take_turns(bigint[], boolean) IS 'Internal: charges the keys of runs that were promoted.';

-- What follows from a pass: where there is room and somebody waits, another one looks, in so many ms. At once, where this one hasn't looked (chosen NULL; so has one
-- that chose by keys which were not all that a run has), some of those that it has chosen don't wait any more, some that it has held were not among those that it chose from, or took a place by the count that one
-- of those wanted (limit_verdicts); otherwise
-- something else holds those whose turn it is, and it does in some time. That a pass says when, and not that there is more, leaves the turns to
-- passes that claim them: those of a backlog, beside the claims, make runs AVAILABLE.
CREATE OR REPLACE FUNCTION rowrun.follow_turns(chosen bigint[], held bigint[], OUT next_ms double precision) LANGUAGE plpgsql
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
DECLARE
    t timestamptz := clock_timestamp();
    open_id bigint;
    first_id bigint;
BEGIN
    open_id := (SELECT c.id FROM concurrency_limit c JOIN limit_clock k ON k.limit_id = c.id CROSS JOIN LATERAL fair_room(c.id, t) r
                WHERE c.share = 'FAIR' AND r.taken < r.slots AND EXISTS (SELECT FROM limit_turn w WHERE w.limit_id = c.id AND w.priority IS NOT NULL)
                ORDER BY random() LIMIT 1 FOR NO KEY UPDATE OF k SKIP LOCKED);
    IF open_id IS NULL THEN RETURN; END IF;
    IF chosen IS NULL OR EXISTS (SELECT FROM unnest(chosen) i(id) LEFT JOIN task_run r ON r.id = i.id WHERE r.limit_wait IS NULL)
        OR EXISTS (SELECT FROM unnest(held) i(id) JOIN task_run r ON r.id = i.id WHERE i.id <> ALL (chosen) AND starts_with(r.limit_wait, open_id || ':'))
        OR EXISTS (SELECT FROM unnest(held) i(id) JOIN task_run r ON r.id = i.id JOIN unnest(chosen) c(id) ON true JOIN task_run w ON w.id = c.id
                   WHERE i.id <> ALL (chosen) AND w.limit_wait IS NOT NULL AND r.limit_keys && w.limit_keys AND NOT EXISTS (SELECT FROM shut_limits(w.limit_keys, t))) THEN
        INSERT INTO gate_mark (kind, limit_key) VALUES ('LIMIT', open_id || ':');
        next_ms := 0.001;
        RETURN;
    END IF;
    SELECT r.id INTO first_id
    FROM (SELECT w.limit_key FROM limit_turn w WHERE w.limit_id = open_id AND w.priority IS NOT NULL
          ORDER BY w.limit_id, w.priority DESC, w.weight, w.starts_at, w.limit_key LIMIT 20) k
    CROSS JOIN LATERAL (SELECT q.id, q.judge_at FROM task_run q WHERE q.limit_wait = k.limit_key AND q.status = 'PENDING'
                        ORDER BY q.priority DESC, q.run_at, q.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) r LIMIT 1;
    next_ms := 200;
    UPDATE task_run r SET judge_at = t + interval '200 ms', prev_status = NULL WHERE r.id = first_id AND (r.judge_at > t) IS NOT TRUE;
END $$;
COMMENT ON FUNCTION rowrun.follow_turns(bigint[], bigint[]) IS 'Internal: what follows from a pass for the turns.';

-- AVAILABLE runs that a claim may take, those of FAIR limits in the order of their turns: within a priority they stand together where the
-- oldest of them does. At most as many of these are AVAILABLE as there are slots, and any of them may be first. Queues NULL: any.
CREATE OR REPLACE FUNCTION rowrun.in_turn(run_ids bigint[], queues text[], types text[], databases text[], commands text[], most bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM concurrency_limit l WHERE l.share = 'FAIR') THEN
        RETURN run_ids;
    END IF;
    RETURN ARRAY(
        WITH fair AS MATERIALIZED (
            SELECT r.id, r.priority, r.run_at, h.turn FROM limit_holder h
            CROSS JOIN LATERAL (SELECT * FROM task_run x WHERE x.id = h.run_id AND coalesce(x.status, '') = 'AVAILABLE' OFFSET 0) r
            JOIN task k ON k.id = r.task_id LEFT JOIN plan p ON p.id = r.plan_id
            WHERE h.share_id IS NOT NULL AND h.turn IS NOT NULL AND r.limit_wait IS NULL AND (queues IS NULL OR r.queue = ANY (queues)) AND r.type = ANY (types)
              AND NOT k.paused AND NOT k.skipped AND p.paused IS NOT TRUE AND (databases IS NULL OR can_take(r, k, databases, commands))
        ), known AS MATERIALIZED (
            SELECT i.id, f.id AS fair_id, i.n, f.priority, f.run_at, f.turn
            FROM unnest(run_ids) WITH ORDINALITY i(id, n) FULL JOIN fair f ON f.id = i.id
        )
        SELECT coalesce(k.id, k.fair_id) FROM known k
        LEFT JOIN LATERAL (SELECT r.priority, r.run_at FROM task_run r WHERE k.fair_id IS NULL AND r.id = k.id OFFSET 0) r ON true
        ORDER BY coalesce(k.priority, r.priority) DESC,
                 CASE WHEN k.fair_id IS NULL THEN r.run_at ELSE min(k.run_at) OVER (PARTITION BY k.fair_id IS NULL, k.priority) END,
                 k.turn, coalesce(k.id, k.fair_id) LIMIT most);
END $$;
COMMENT ON FUNCTION rowrun.in_turn(bigint[], text[], text[], text[], text[], bigint) IS 'Internal: AVAILABLE runs in the order of claims.';
