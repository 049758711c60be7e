-- claim_deliveries
-- Hands out webhook deliveries that are due, for one try each.
-- Each webhook gives its first few: however much one endpoint has to catch up on, the others' are found at once. Those come
-- first that have the fewest tries under way, so that however many endpoints hang, one that answers has its turn. The lease is
-- read before the row is locked and again with it.
-- $1 bigint: how many at most
-- $2 integer: how many of one webhook at most
-- $3 bigint[]: webhooks of which the sender has deliveries in its hands
-- $4 integer[]: how many, for each of these
-- $5 float8: for how many seconds nobody else takes them
-- $6 text: URL of the dashboard, for bodies that link to it and were never tried; '': none
-- $7 bigint[]: webhooks that are slow
-- $8 integer: how many of all are kept for webhooks that are not slow and have no try under way
-- Returns: in how many seconds the next one is due (NULL: none is known), in each row; one row without a message where none
--   is handed out
WITH now AS MATERIALIZED (
    SELECT clock_timestamp() AS t
), due AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM rowrun.webhook_delivery d WHERE d.status = 'PENDING' AND d.next_attempt_at <= now.t)
        AND NOT (SELECT rowrun.deployment_elsewhere()) AS found FROM now -- a copy's messages are its origin's to send
), seen AS MATERIALIZED (
    SELECT o.id
    FROM (
        SELECT d.id, d.next_attempt_at, d.nth, d.more, row_number() OVER (PARTITION BY d.more ORDER BY d.nth, d.next_attempt_at, d.id) AS place
        FROM (
            SELECT d.id, d.next_attempt_at, d.nth, d.nth > 1 OR w.id = ANY ($7::bigint[]) AS more
            FROM rowrun.webhook w
            CROSS JOIN now
            LEFT JOIN unnest($3::bigint[], $4::int[]) busy(id, n) ON busy.id = w.id
            CROSS JOIN LATERAL (
                SELECT f.id, f.next_attempt_at, coalesce(busy.n, 0) + row_number() OVER (ORDER BY f.next_attempt_at, f.id) AS nth
                FROM (SELECT d.id, d.next_attempt_at FROM rowrun.webhook_delivery d
                      WHERE d.webhook_id = w.id AND d.status = 'PENDING' AND d.next_attempt_at <= now.t
                        AND (d.leased_until IS NULL OR d.leased_until <= now.t)
                      ORDER BY d.next_attempt_at, d.id LIMIT greatest($2 - coalesce(busy.n, 0), 0)) f
            ) d
            WHERE w.enabled AND (SELECT found FROM due)
        ) d
    ) o
    WHERE NOT o.more OR o.place <= $1::bigint - $8::int
    ORDER BY o.nth, o.next_attempt_at, o.id LIMIT $1
), picked AS MATERIALIZED (
    SELECT d.id FROM rowrun.webhook_delivery d, now
    WHERE d.id = ANY (ARRAY(SELECT id FROM seen)) AND coalesce(d.status, '') = 'PENDING' AND d.next_attempt_at <= now.t
      AND (d.leased_until IS NULL OR d.leased_until <= now.t)
    FOR NO KEY UPDATE OF d SKIP LOCKED
), taken AS (
    UPDATE rowrun.webhook_delivery d
    SET leased_until = now.t + make_interval(secs => $5), lease_token = gen_random_uuid(), standard = NULL,
        payload = CASE WHEN $6 <> '' AND d.standard IS NOT NULL AND d.attempts = 0 THEN rowrun.webhook_body(d.format, d.message_id, d.standard, $6)
                       ELSE d.payload END
    FROM rowrun.webhook w, now
    WHERE d.id = ANY (ARRAY(SELECT id FROM picked)) AND w.id = d.webhook_id
    RETURNING d.id, d.webhook_id, d.plan_id, d.event_type, d.message_id, d.payload, d.attempts,
        w.url, coalesce(w.secret_ref, '') AS secret_ref, d.lease_token::text AS token, d.next_attempt_at, d.content_type, coalesce(d.run_id, 0) AS run_id, coalesce(d.task_id, 0) AS task_id
)
SELECT extract(epoch FROM least(
           (SELECT d.next_attempt_at FROM rowrun.webhook_delivery d
            WHERE d.status = 'PENDING' AND d.next_attempt_at > now.t ORDER BY d.next_attempt_at LIMIT 1),
           -- One whose sender is gone is free at the end of its lease.
           (SELECT d.leased_until FROM rowrun.webhook_delivery d
            WHERE d.status = 'PENDING' AND d.leased_until > now.t ORDER BY d.leased_until LIMIT 1)) - now.t)::float8,
       coalesce(k.id, 0), coalesce(k.webhook_id, 0), coalesce(k.plan_id, 0), coalesce(k.event_type, ''), coalesce(k.message_id, ''),
       coalesce(k.payload, ''), coalesce(k.attempts, 0), coalesce(k.url, ''), coalesce(k.secret_ref, ''), coalesce(k.token, ''),
       coalesce(k.content_type, ''), coalesce(k.run_id, 0), coalesce(k.task_id, 0)
FROM now LEFT JOIN taken k ON true
ORDER BY k.next_attempt_at, k.id
