-- set_limit
-- Makes a limit, or changes what is given of it.
-- $1 text: name
-- $2 text: type; NULL: as it is, as for all that follow
-- $3 text: queue
-- $4 text[]: where its key stands
-- $5 integer: most AVAILABLE or RUNNING
-- $6 integer: rate
-- $7 float8: the time of the rate in s
-- $8 integer: burst
-- $9 timestamptz: not before
-- $10 text[]: columns that are none from now on; weights: those that $12 doesn't give
-- $11 text: how its keys share
-- $12 jsonb: weights of keys; those of others stay
-- Returns: its name; no row where it was changed
WITH changed AS (
    UPDATE rowrun.concurrency_limit l
    SET type = CASE WHEN 'type' = ANY ($10::text[]) THEN NULL ELSE coalesce($2, l.type) END,
        queue = CASE WHEN 'queue' = ANY ($10::text[]) THEN NULL ELSE coalesce($3, l.queue) END,
        key_path = CASE WHEN 'key_path' = ANY ($10::text[]) THEN NULL ELSE coalesce($4, l.key_path) END,
        max_running = CASE WHEN 'max_running' = ANY ($10::text[]) THEN NULL ELSE coalesce($5, l.max_running) END,
        rate = CASE WHEN 'rate' = ANY ($10::text[]) THEN NULL ELSE coalesce($6, l.rate) END,
        per = CASE WHEN 'rate' = ANY ($10::text[]) THEN NULL ELSE coalesce(make_interval(secs => $7), l.per) END,
        burst = CASE WHEN '{burst,rate}'::text[] && $10::text[] THEN NULL ELSE coalesce($8, l.burst) END,
        not_before = CASE WHEN 'not_before' = ANY ($10::text[]) THEN NULL ELSE coalesce($9, l.not_before) END,
        share = coalesce($11, l.share), weights = CASE WHEN 'weights' = ANY ($10::text[]) THEN '{}' ELSE l.weights END || coalesce($12::jsonb, '{}')
    WHERE l.name = $1
    RETURNING l.name
)
INSERT INTO rowrun.concurrency_limit (name, type, queue, key_path, max_running, rate, per, burst, not_before, share, weights)
SELECT $1, $2, $3, $4, $5, $6, make_interval(secs => $7), $8, $9, coalesce($11, 'NONE'), coalesce($12::jsonb, '{}') WHERE NOT EXISTS (SELECT FROM changed)
RETURNING name
