-- doctor_set_aside
-- Target databases that live replicas know and can't reach.
-- Returns: up to 100 rows store.SetAside
SELECT a.key, r.name, left(coalesce(a.value, ''), 2000)
FROM rowrun.replica_status r CROSS JOIN LATERAL jsonb_each_text(r.set_aside) a
WHERE r.live AND r.set_aside <> '{}' ORDER BY a.key, r.name LIMIT 100
