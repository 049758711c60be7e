package migrations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// object is a piece of the schema that can be made anew without a loss of data.
type object struct {
	Kind string // function, view, trigger, constraint, index, publication or grants
	Name string // with its schema; a trigger's or constraint's ends with " ON " and its table
	// Statement makes it; of grants it is the list of who may do what.
	Statement string
	// State is what the statement doesn't say: whether a trigger fires, or an index is valid.
	State string
	// Hash is of both.
	Hash string
}

func (o *object) key() string { return o.Kind + " " + o.Name }

// catalogSQL reads the schema back, in the order in which it was made: what stands later may need what stands before.
// Only Rowrun's own roles and PUBLIC count among the grants: others are granted what their owners like.
const catalogSQL = `-- read_catalog
WITH ours AS (
    SELECT n.oid FROM pg_namespace n WHERE n.nspname = 'rowrun'
), rights AS (
    SELECT a.oid, a.name, string_agg(coalesce(r.rolname, 'PUBLIC') || '=' || e.privilege_type || a.columns, ', '
               ORDER BY coalesce(r.rolname, 'PUBLIC') COLLATE "C", e.privilege_type COLLATE "C", a.columns COLLATE "C") AS list
    FROM (
        SELECT n.oid, 'SCHEMA rowrun' AS name, coalesce(n.nspacl, acldefault('n', n.nspowner)) AS acl, n.nspowner AS owner, '' AS columns
        FROM pg_namespace n JOIN ours USING (oid)
        UNION ALL
        SELECT c.oid, CASE c.relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END || c.oid::regclass,
               coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner)), c.relowner, ''
        FROM pg_class c JOIN ours ON ours.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'S')
        UNION ALL
        SELECT c.oid, 'TABLE ' || c.oid::regclass, a.attacl, c.relowner, ' (' || quote_ident(a.attname) || ')'
        FROM pg_class c JOIN ours ON ours.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relkind IN ('r', 'v') AND a.attacl IS NOT NULL AND NOT a.attisdropped
        UNION ALL
        SELECT f.oid, 'FUNCTION ' || f.oid::regprocedure, coalesce(f.proacl, acldefault('f', f.proowner)), f.proowner, ''
        FROM pg_proc f JOIN ours ON ours.oid = f.pronamespace WHERE f.prokind IN ('f', 'p')
    ) a
    LEFT JOIN LATERAL aclexplode(a.acl) e ON e.grantee <> a.owner
        AND (e.grantee = 0 OR e.grantee IN (SELECT r.oid FROM pg_roles r
             WHERE r.rolname IN ('rowrun_client', 'rowrun_author', 'rowrun_operator', 'rowrun_viewer', 'rowrun_replica', 'rowrun_worker')))
    LEFT JOIN pg_roles r ON r.oid = e.grantee
    GROUP BY a.oid, a.name
)
SELECT o.kind, o.name, o.statement, o.state, md5(o.statement || E'\n' || o.state) AS hash FROM (
    SELECT f.oid, 'function' AS kind, f.oid::regprocedure::text AS name, pg_get_functiondef(f.oid) AS statement, '' AS state
    FROM pg_proc f JOIN ours ON ours.oid = f.pronamespace WHERE f.prokind IN ('f', 'p')
    UNION ALL
    SELECT c.oid, 'view', c.oid::regclass::text,
           'CREATE OR REPLACE VIEW ' || c.oid::regclass || coalesce(' WITH (' || array_to_string(c.reloptions, ', ') || ')', '') || E' AS\n' || pg_get_viewdef(c.oid), ''
    FROM pg_class c JOIN ours ON ours.oid = c.relnamespace WHERE c.relkind = 'v'
    UNION ALL
    SELECT t.oid, 'trigger', quote_ident(t.tgname) || ' ON ' || t.tgrelid::regclass, pg_get_triggerdef(t.oid),
           CASE t.tgenabled WHEN 'O' THEN '' WHEN 'A' THEN 'ALWAYS' WHEN 'R' THEN 'REPLICA' ELSE 'disabled' END
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN ours ON ours.oid = c.relnamespace WHERE NOT t.tgisinternal
    UNION ALL
    SELECT k.oid, 'constraint', quote_ident(k.conname) || ' ON ' || k.conrelid::regclass,
           'ALTER TABLE ' || k.conrelid::regclass || ' ADD CONSTRAINT ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid), ''
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN ours ON ours.oid = c.relnamespace WHERE k.contype IN ('c', 'f', 'p', 'u', 'x')
    UNION ALL
    SELECT i.indexrelid, 'index', i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid),
           CASE WHEN i.indisvalid AND i.indisready THEN '' ELSE 'invalid' END
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN ours ON ours.oid = c.relnamespace
    WHERE c.relkind = 'r' AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
    UNION ALL
    SELECT p.oid, 'publication', 'rowrun_stream', 'FOR TABLE ' || string_agg(format('%I.%I (%s)', t.schemaname, t.tablename,
               (SELECT string_agg(quote_ident(a.name), ', ' ORDER BY a.name COLLATE "C") FROM unnest(t.attnames) a(name))), ', '
               ORDER BY t.schemaname, t.tablename)
           || ' WITH (publish = ''' || concat_ws(', ', CASE WHEN p.pubinsert THEN 'insert' END, CASE WHEN p.pubupdate THEN 'update' END,
               CASE WHEN p.pubdelete THEN 'delete' END, CASE WHEN p.pubtruncate THEN 'truncate' END) || ''')', ''
    FROM pg_publication p LEFT JOIN pg_publication_tables t USING (pubname)
    WHERE p.pubname = 'rowrun_stream' AND t.schemaname IS NOT NULL GROUP BY p.oid
    UNION ALL
    SELECT 4294967295::oid, 'grants', r.name, coalesce(r.list, ''), '' FROM rights r
) o ORDER BY o.oid, o.kind COLLATE "C", o.name COLLATE "C"`

// catalog reads the objects of the schema as this server writes them. Names are written with their schema whatever the
// session's search path is.
func catalog(ctx context.Context, tx pgx.Tx) ([]object, error) {
	if _, err := tx.Exec(ctx, "SET LOCAL search_path = pg_catalog"); err != nil {
		return nil, fmt.Errorf("read the schema back: %w", err)
	}
	rows, err := tx.Query(ctx, catalogSQL)
	if err != nil {
		return nil, fmt.Errorf("read the schema back: %w", err)
	}
	objects, err := pgx.CollectRows(rows, pgx.RowToStructByPos[object])
	if err != nil {
		return nil, fmt.Errorf("read the schema back: %w", err)
	}
	return objects, nil
}
