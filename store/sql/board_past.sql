-- board_past
-- What the rows tell of the past, in steps that end with the last whole one. Runs inserted are told by the ids that were drawn;
-- failures for good are the last 10,000; starts are those of the first 20 runs of each step.
-- $1 float8: seconds of a step
-- $2 integer: how many
-- Returns: the beginning of each step, runs inserted, runs that failed for good, the median from insert, or run_at, to start in ms
WITH t AS (
    SELECT n, to_timestamp((floor(extract(epoch FROM now())::float8 / $1::float8) - $2::integer + n) * $1::float8) AS at FROM generate_series(0, $2::integer) n
), e AS MATERIALIZED (
    SELECT t.n, t.at, rowrun.run_id_at(t.at, 0, 9223372036854775807) AS id FROM t
), f AS MATERIALIZED (
    SELECT floor(extract(epoch FROM x.finished_at)::float8 / $1::float8) AS step, count(*) AS n
    FROM (SELECT r.finished_at FROM rowrun.task_run r WHERE r.status = 'FAILED' AND r.retry_run_id IS NULL
          AND r.finished_at >= (SELECT min(t.at) FROM t) AND isfinite(r.finished_at) ORDER BY r.finished_at DESC LIMIT 10000) x
    GROUP BY 1
)
SELECT a.at, greatest(b.id - a.id, 0), coalesce(f.n, 0), l.p50
FROM e a JOIN e b ON b.n = a.n + 1
LEFT JOIN f ON f.step = floor(extract(epoch FROM a.at)::float8 / $1::float8)
LEFT JOIN LATERAL (
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM s.started_at - greatest(s.created_at, s.run_at))::float8 * 1000) AS p50
    FROM (SELECT r.started_at, r.created_at, r.run_at FROM rowrun.task_run r WHERE r.id > a.id AND r.id <= b.id ORDER BY r.id LIMIT 20) s
    WHERE isfinite(s.started_at) AND isfinite(s.created_at) AND isfinite(s.run_at)
) l ON true
ORDER BY a.n
