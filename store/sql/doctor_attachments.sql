-- doctor_attachments
-- Rights to attach a trigger or a foreign key, or to make functions in the schema, that anybody but the owner holds; and
-- foreign keys, children and rules that lead to tables of others.
-- Returns: up to 100 rows: what, and the statement that ends it
WITH ours AS MATERIALIZED (
    SELECT c.oid, c.relowner, c.relacl, c.relkind FROM pg_class c WHERE c.relnamespace = 'rowrun'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
), held AS (
    SELECT 'TABLE ' || o.oid::regclass AS object, a.grantee, a.privilege_type AS privilege, a.privilege_type AS shown
    FROM ours o CROSS JOIN LATERAL aclexplode(o.relacl) a
    WHERE a.grantee <> o.relowner AND a.privilege_type IN ('TRIGGER', 'REFERENCES', 'TRUNCATE')
    UNION ALL
    SELECT 'TABLE ' || o.oid::regclass, a.grantee, a.privilege_type, format('REFERENCES (%I)', t.attname)
    FROM ours o JOIN pg_attribute t ON t.attrelid = o.oid CROSS JOIN LATERAL aclexplode(t.attacl) a
    WHERE a.grantee <> o.relowner AND a.privilege_type = 'REFERENCES'
    UNION ALL
    SELECT 'SCHEMA rowrun', a.grantee, a.privilege_type, a.privilege_type
    FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a
    WHERE n.nspname = 'rowrun' AND a.grantee <> n.nspowner AND a.privilege_type = 'CREATE'
)
SELECT format('%s has %s on %s', CASE h.grantee WHEN 0 THEN 'PUBLIC' ELSE h.grantee::regrole::text END, string_agg(DISTINCT h.shown, ', '), lower(h.object)),
       format('REVOKE %s ON %s FROM %s CASCADE;', string_agg(DISTINCT h.shown, ', '), h.object, CASE h.grantee WHEN 0 THEN 'PUBLIC' ELSE h.grantee::regrole::text END)
FROM held h GROUP BY h.grantee, h.object
UNION ALL
SELECT format('a foreign key of table %s, which %s owns, leads to %s', k.conrelid::regclass, c.relowner::regrole, k.confrelid::regclass),
       format('ALTER TABLE %s DROP CONSTRAINT %I;', k.conrelid::regclass, k.conname)
FROM pg_constraint k JOIN ours o ON o.oid = k.confrelid JOIN pg_class c ON c.oid = k.conrelid
WHERE k.contype = 'f' AND c.relowner <> o.relowner
UNION ALL
SELECT format('table %s, which %s owns, inherits from %s', i.inhrelid::regclass, c.relowner::regrole, i.inhparent::regclass),
       format('ALTER TABLE %s NO INHERIT %s;', i.inhrelid::regclass, i.inhparent::regclass)
FROM pg_inherits i JOIN ours o ON o.oid = i.inhparent JOIN pg_class c ON c.oid = i.inhrelid
WHERE o.relkind IN ('r', 'p') AND c.relowner <> o.relowner
UNION ALL
SELECT format('rule %s on %s rewrites what the sidecar does', w.rulename, w.ev_class::regclass), format('DROP RULE %I ON %s;', w.rulename, w.ev_class::regclass)
FROM pg_rewrite w JOIN ours o ON o.oid = w.ev_class
WHERE w.rulename <> '_RETURN'
UNION ALL
SELECT format('%s, in schema rowrun, belongs to %s', o.what, o.owner::regrole), format('DROP %s; -- once you have looked at it', o.what)
FROM pg_namespace n CROSS JOIN LATERAL (
    SELECT 'FUNCTION ' || f.oid::regprocedure, f.proowner FROM pg_proc f WHERE f.pronamespace = n.oid
    UNION ALL
    SELECT 'OPERATOR ' || p.oid::regoperator, p.oprowner FROM pg_operator p WHERE p.oprnamespace = n.oid
    UNION ALL
    SELECT 'DOMAIN ' || t.oid::regtype, t.typowner FROM pg_type t WHERE t.typnamespace = n.oid AND t.typtype = 'd'
) o(what, owner) JOIN pg_roles r ON r.oid = o.owner
WHERE n.nspname = 'rowrun' AND NOT r.rolsuper AND NOT pg_has_role(o.owner, n.nspowner, 'MEMBER')
ORDER BY 1 LIMIT 100
