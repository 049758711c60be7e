-- judge where there may be limits, which are asked behind all other gates: of the same runs, by the same snapshot, at the same
-- moment. turns are the runs whose turn it is in FAIR limits. limit_key is the limit that holds a run, with its key; is_full: a token waits for a free slot of a replica. What lost its
-- plan's slot or its database to a run that a limit holds is judged again: see write_limit_waits.
CREATE OR REPLACE FUNCTION rowrun.judge_limited(run_ids bigint[], plan_ids bigint[], t timestamptz, last_mark bigint, turns bigint[])
    RETURNS TABLE (id bigint, cause text, plan_id bigint, database_id text, exclusive boolean, crowded_out boolean, fresh boolean, freed boolean,
                   judged_at timestamptz, limit_key text, is_full boolean)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH v AS MATERIALIZED (
        SELECT j.id, j.cause, j.plan_id, j.database_id, j.exclusive, j.crowded_out, j.fresh, j.freed, j.judged_at
        FROM rowrun.judge(judge_limited.run_ids, judge_limited.plan_ids, judge_limited.t, judge_limited.last_mark) j
    ), h AS MATERIALIZED (
        SELECT x.id, x.cause, x.limit_key, x.is_full
        FROM rowrun.limit_verdicts(ARRAY(SELECT v.id FROM v WHERE v.cause IS NULL), (SELECT max(v.judged_at) FROM v), false, judge_limited.turns) x
    )
    SELECT v.id, coalesce(v.cause, h.cause), v.plan_id, v.database_id, v.exclusive, v.crowded_out, v.fresh, v.freed, v.judged_at,
           CASE WHEN h.cause = 'LIMIT' THEN h.limit_key END, h.is_full
    FROM v FULL JOIN h ON h.id = v.id;
END;
COMMENT ON FUNCTION rowrun.judge_limited(bigint[], bigint[], timestamptz, bigint, bigint[]) IS 'Internal: what holds each of these runs, limits too.';
