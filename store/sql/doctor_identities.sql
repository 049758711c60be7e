-- doctor_identities
-- The questions whose answers say what the identity sequences of the schema draw next. The names in them are the server's to
-- quote.
-- Returns: one statement for each; its row has sequence, table, what it draws next, the largest id of the table
SELECT format(E'-- doctor_sequence\nSELECT %L, %L, CASE WHEN s.is_called THEN s.last_value + 1 ELSE s.last_value END AS next, '
              'coalesce((SELECT max(t.%I) FROM %s t), 0) AS behind FROM %s s',
              q.seq, c.oid::regclass::text, a.attname, c.oid::regclass, q.seq)
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> '' AND NOT a.attisdropped
CROSS JOIN LATERAL (SELECT pg_get_serial_sequence(c.oid::regclass::text, a.attname)) q(seq)
WHERE c.relnamespace = to_regnamespace('rowrun') AND c.relkind = 'r'
  AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY c.relname
