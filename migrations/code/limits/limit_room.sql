-- How many runs a limit lets go with a key: places, as far as max_running goes, and tokens, as far as the rate does. held_until:
-- none before that moment. next_token_at: when there is a whole token. No row: the limit is gone. Places are counted from the runs that hold
-- one, each of which is looked at: what wrote no end of its own takes no place. One that is due still may just be starting: somebody had it locked when
-- the limit was made (adopt_limits). Inlined where it is called.
CREATE OR REPLACE FUNCTION rowrun.limit_room(limit_key text, t timestamptz)
    RETURNS TABLE (name text, max_running integer, places bigint, rated boolean, tokens double precision, next_token_at timestamptz, held_until timestamptz)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT l.name, l.max_running,
           CASE WHEN l.max_running IS NULL THEN 1000000000
                ELSE l.max_running - (SELECT count(*) FROM (
                    SELECT FROM rowrun.limit_holder h
                    CROSS JOIN LATERAL (SELECT FROM rowrun.task_run x
                                        WHERE x.id = h.run_id AND (coalesce(x.status, '') IN ('AVAILABLE', 'RUNNING')
                                                                   OR coalesce(x.status, '') = 'PENDING' AND x.judge_at <= limit_room.t) OFFSET 0) x
                    WHERE h.limit_key = limit_room.limit_key LIMIT l.max_running) a) END,
           l.rate IS NOT NULL, n.tokens,
           CASE WHEN n.tokens < 1 THEN limit_room.t + make_interval(secs => least((1 - n.tokens) * extract(epoch FROM l.per)::double precision / l.rate, 3155760000)) END,
           greatest(l.not_before, b.held_until)
    FROM (SELECT * FROM rowrun.concurrency_limit c WHERE c.id = rowrun.limit_id_of(limit_room.limit_key) OFFSET 0) l
    LEFT JOIN LATERAL (SELECT q.tokens, q.counted_at, q.held_until FROM rowrun.limit_bucket q WHERE q.limit_key = limit_room.limit_key OFFSET 0) b ON true
    CROSS JOIN LATERAL (SELECT least(coalesce(l.burst, l.rate), coalesce(
        b.tokens + greatest(extract(epoch FROM limit_room.t - b.counted_at), 0)::double precision * l.rate / extract(epoch FROM l.per)::double precision,
        coalesce(l.burst, l.rate)))::double precision AS tokens) n;
END;
COMMENT ON FUNCTION rowrun.limit_room(text, timestamptz) IS 'Internal: how many runs a limit lets go with a key.';

-- The judgement of limits: of these runs those that a limit applies to, with what holds each, or NULL, and the limit that does.
-- They are judged together, in the order of promotion; a run counts before those behind it even where another limit holds
-- it, so that some of these may have to be asked again (follow_limits, follow_turns). One that no replica takes doesn't count.
-- is_full: no replica that could run it has a free slot, without which no token is taken.
--
-- Before a promotion (claim false) a run needs a live replica that could run it, of each limit a place among what is AVAILABLE or
-- RUNNING, and a token. Before a claim it is AVAILABLE: it needs a place among what is RUNNING, and a token where none was
-- taken, because the limit was made since.
-- busy: runs that count as RUNNING at a claim, as somebody may just be claiming them (lock_doubtful).
-- turns: the runs whose turn it is in their FAIR limits, in that order (fair.sql); the others have to wait for theirs. NULL: turns aren't
-- asked. What has a turn waits for that, whichever of its limits holds it.
-- What is joined is hashed or merged by FULL: the planner takes arrays for short, and would compare each with each.
CREATE OR REPLACE FUNCTION rowrun.limit_verdicts(run_ids bigint[], t timestamptz, claim boolean, turns bigint[] DEFAULT NULL, busy bigint[] DEFAULT NULL)
    RETURNS TABLE (id bigint, cause text, limit_key text, opens_at timestamptz, is_full boolean)
    LANGUAGE plpgsql STABLE ROWS 100
    SET jit = off
    SET search_path = pg_catalog, rowrun, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF cardinality(run_ids) IS NULL OR cardinality(run_ids) = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH limited AS MATERIALIZED (
        SELECT r.id, r.priority, r.run_at, r.queue, r.type, coalesce(r.database_id, '') AS database_id, s.limit_keys,
               CASE r.type WHEN 'COMMAND' THEN coalesce((k.payload -> 'command')::text, '') ELSE '' END AS command
        FROM task_run r JOIN task k ON k.id = r.task_id CROSS JOIN LATERAL limits_on(r, k.payload) s
        WHERE r.id = ANY (run_ids) AND s.limit_keys IS NOT NULL
    ), turn AS MATERIALIZED (
        SELECT o.id, o.n FROM unnest(limit_verdicts.turns) WITH ORDINALITY o(id, n)
    ), known AS MATERIALIZED ( -- a turn that somebody has just canceled has no run
        SELECT l.*, (SELECT f.limit_key FROM fair_key(CASE WHEN limit_verdicts.turns IS NOT NULL THEN l.limit_keys END) f) AS fair_key, o.n AS turn
        FROM limited l FULL JOIN turn o ON o.id = l.id
    ), candidate AS MATERIALIZED ( -- runs whose turn it is stand together where the oldest of them does
        SELECT k.*, CASE WHEN k.turn IS NULL THEN k.run_at ELSE min(k.run_at) OVER (PARTITION BY k.turn IS NULL, k.priority) END AS placed_at
        FROM known k WHERE k.id IS NOT NULL
    ), room AS MATERIALIZED (
        SELECT d.limit_key, m.*
        FROM (SELECT DISTINCT u.limit_key FROM candidate c CROSS JOIN LATERAL unnest(c.limit_keys) u(limit_key)) d
        CROSS JOIN LATERAL limit_room(d.limit_key, limit_verdicts.t) m
    ), running AS MATERIALIZED ( -- bounded by the slots that there are
        SELECT h.limit_key, count(*) AS n FROM (
            SELECT a.id FROM task_run a WHERE limit_verdicts.claim AND a.status = 'RUNNING' UNION SELECT u.id FROM unnest(limit_verdicts.busy) u(id)) a
        JOIN limit_holder h ON h.run_id = a.id
        WHERE h.limit_key IN (SELECT m.limit_key FROM room m) GROUP BY 1
    ), kind AS MATERIALIZED (
        SELECT k.queue, k.type, k.database_id, k.command, count(h.replica_id) > 0 AS able,
               coalesce(sum(CASE WHEN (SELECT bool_or(m.rated) FROM room m) THEN greatest(h.concurrency
                   - (SELECT count(*) FROM task_run a WHERE a.status = 'RUNNING' AND a.replica_id = h.replica_id), 0) END), 0) AS free
        FROM (SELECT DISTINCT c.queue, c.type, c.database_id, c.command FROM candidate c WHERE NOT limit_verdicts.claim) k
        LEFT JOIN replica_heartbeat h ON takes(h, limit_verdicts.t, k.queue, k.type, nullif(k.database_id, ''),
            CASE WHEN k.command <> '' THEN jsonb_build_object('command', k.command::jsonb) ELSE '{}' END)
        GROUP BY 1, 2, 3, 4
    ), wish AS MATERIALIZED (
        SELECT c.id, u.limit_key, u.place, c.fair_key, c.fair_key IS NOT NULL AND c.turn IS NULL AS no_turn, k.able, coalesce(k.free, 1000000000) AS free,
               count(*) FILTER (WHERE k.able IS NOT FALSE) OVER (PARTITION BY u.limit_key ORDER BY c.priority DESC, c.placed_at, c.turn, c.id) AS nth,
               dense_rank() OVER (PARTITION BY c.queue, c.type, c.database_id, c.command ORDER BY c.priority DESC, c.placed_at, c.turn, c.id) AS nth_of_kind,
               count(*) FILTER (WHERE p.paid IS NOT TRUE AND k.able IS NOT FALSE) OVER (PARTITION BY u.limit_key ORDER BY c.priority DESC, c.placed_at, c.turn, c.id) AS nth_unpaid,
               p.paid IS TRUE AS paid
        FROM candidate c
        LEFT JOIN kind k ON k.queue = c.queue AND k.type = c.type AND k.database_id = c.database_id AND k.command = c.command
        CROSS JOIN LATERAL unnest(c.limit_keys) WITH ORDINALITY u(limit_key, place)
        LEFT JOIN LATERAL (SELECT h.paid FROM limit_holder h
                           WHERE limit_verdicts.claim AND h.run_id = c.id AND h.limit_key = u.limit_key OFFSET 0) p ON true
    ), asked AS MATERIALIZED (
        SELECT w.id, coalesce(w.fair_key, w.limit_key) AS limit_key, w.place, w.able, w.no_turn,
               m.held_until > limit_verdicts.t AS held, m.held_until,
               CASE WHEN limit_verdicts.claim THEN w.nth > m.max_running - coalesce(n.n, 0) ELSE w.nth > m.places END AS taken,
               m.rated AND NOT w.paid AND w.nth_unpaid > floor(m.tokens + 0.000001) AS dry, m.next_token_at,
               m.rated AND w.nth_of_kind > w.free AS crowded
        FROM wish w FULL JOIN room m ON m.limit_key = w.limit_key FULL JOIN running n ON n.limit_key = w.limit_key
    ), closed AS MATERIALIZED (
        SELECT DISTINCT ON (a.id) a.id, a.limit_key,
               CASE WHEN a.held THEN a.held_until WHEN a.taken THEN NULL WHEN a.dry THEN coalesce(a.next_token_at, limit_verdicts.t) END AS opens_at,
               a.crowded AND NOT coalesce(a.held, false) AND NOT coalesce(a.taken, false) AND NOT coalesce(a.dry, false) AS is_full
        FROM asked a WHERE a.held OR a.taken OR a.dry OR a.crowded OR a.no_turn
        ORDER BY a.id, a.place
    ), able AS MATERIALIZED (
        SELECT a.id, bool_and(limit_verdicts.claim OR a.able) AS able FROM asked a GROUP BY a.id
    )
    SELECT a.id, CASE WHEN NOT a.able THEN 'NO_REPLICA' WHEN x.id IS NOT NULL THEN 'LIMIT' END, x.limit_key, x.opens_at, coalesce(x.is_full, false)
    FROM able a FULL JOIN closed x ON x.id = a.id;
END $$;
COMMENT ON FUNCTION rowrun.limit_verdicts(bigint[], timestamptz, boolean, bigint[], bigint[]) IS 'Internal: what limits say of runs, judged together.';
