-- stream_slot
-- The deployment's replication slot, and what it needs.
-- $1 name: publication that it reads
-- Returns: one row: store.SlotState
SELECT current_setting('wal_level'),
       (SELECT setting::bigint FROM pg_catalog.pg_settings WHERE name = 'max_slot_wal_keep_size'),
       (SELECT a.rolreplication OR a.rolsuper FROM pg_catalog.pg_roles a WHERE a.rolname = current_user),
       EXISTS (SELECT FROM pg_catalog.pg_publication p WHERE p.pubname = $1),
       d.name, l.slot_name IS NOT NULL,
       coalesce(l.database = current_database() AND l.plugin = 'pgoutput' AND NOT l.temporary, false),
       coalesce(l.active, false), coalesce(l.wal_status, CASE WHEN l.slot_name IS NOT NULL THEN 'lost' END, ''),
       coalesce(l.confirmed_flush_lsn::text, ''),
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), l.confirmed_flush_lsn), 0)::bigint,
       -- What PostgreSQL has from 17 on.
       coalesce((to_jsonb(l) ->> 'failover')::boolean, false), coalesce((to_jsonb(l) ->> 'synced')::boolean, false)
FROM (SELECT 'rowrun_stream_' || left(id::text, 8) AS name FROM rowrun.deployment) d
LEFT JOIN pg_catalog.pg_replication_slots l ON l.slot_name = d.name
