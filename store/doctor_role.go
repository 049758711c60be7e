package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/store/session"
)

// targetPatience bounds one look at a target database.
const targetPatience = 5 * time.Second

// mightyRoles are PostgreSQL's own roles that lead to files, programs or everybody's rows.
const mightyRoles = `'{pg_execute_server_program,pg_read_server_files,pg_write_server_files,pg_write_all_data}'::name[]`

// RoleFacts are the rights of the role that asks beyond what a sidecar needs.
type RoleFacts struct {
	Owner           string // who owns Rowrun's tables
	IsOwner         bool   // the role is that, or a member
	Superuser       bool
	CreateRole      bool
	BypassRLS       bool
	OwnsDatabase    bool
	CreatesInPublic bool
	Mighty          []string // PostgreSQL's own roles that it is a member of, see mightyRoles
}

// RoleFacts asks the server. A member counts as the role itself, whether or not it inherits: it may SET ROLE.
func (s *Store) RoleFacts(ctx context.Context) (RoleFacts, error) {
	const q = `-- doctor_role
SELECT c.relowner::regrole::text AS owner, pg_has_role(current_user, c.relowner, 'MEMBER') AS is_owner, r.rolsuper AS superuser,
       r.rolcreaterole AS create_role, r.rolbypassrls AS bypass_rls, pg_has_role(current_user, d.datdba, 'MEMBER') AS owns_database,
       coalesce(has_schema_privilege(to_regnamespace('public')::oid, 'CREATE'), false) AS creates_in_public,
       ARRAY(SELECT m.rolname::text FROM pg_roles m WHERE m.rolname = ANY (` + mightyRoles + `)
             AND pg_has_role(current_user, m.oid, 'MEMBER') ORDER BY 1) AS mighty
FROM pg_roles r, pg_class c, pg_database d
WHERE r.rolname = current_user AND c.oid = 'rowrun.task_run'::regclass AND d.datname = current_database()`
	rows, err := s.pool.Query(ctx, q)
	if err != nil {
		return RoleFacts{}, fmt.Errorf("look at the role: %w", err)
	}
	facts, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[RoleFacts])
	if err != nil {
		return RoleFacts{}, fmt.Errorf("look at the role: %w", err)
	}
	return facts, nil
}

// Attachment is something by which code of somebody else's runs, or may come to run, in the sessions that use our tables.
type Attachment struct {
	What string
	Fix  string // the statement that ends it
}

// Attachments lists up to 100: rights to attach a trigger or a foreign key, or to make functions in the schema, that
// anybody but the owner holds; and foreign keys, children and rules that lead to tables of others. Triggers are in Triggers.
func (s *Store) Attachments(ctx context.Context) ([]Attachment, error) {
	const q = `-- doctor_attachments
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
ORDER BY 1 LIMIT 100`
	return collect(ctx, s, "look for what is attached to the tables", q, pgx.RowToStructByPos[Attachment])
}

// TargetRole is the role that a target database is reached with.
type TargetRole struct {
	Name      string
	Here      bool // on the server that also has Rowrun's database
	Superuser bool // or CREATEROLE, or a member of a role that leads there
	// Lends is a role of Rowrun's that it is or may take: the sidecar's own, the owner's, rowrun_replica; "": none.
	Lends string
}

// TargetRole looks at the target, and at what its role may do on Rowrun's server: whoever writes SQL tasks has that role.
// sidecar is the role of the sidecars, owner that of the tables.
func (s *Store) TargetRole(ctx context.Context, url, sidecar, owner string) (TargetRole, error) {
	ctx, cancel := context.WithTimeout(ctx, targetPatience)
	defer cancel()
	const here = `-- doctor_server_start
SELECT pg_postmaster_start_time()::text`
	var start string
	if err := s.pool.QueryRow(ctx, here).Scan(&start); err != nil {
		return TargetRole{}, fmt.Errorf("ask when the server started: %w", err)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return TargetRole{}, fmt.Errorf("read the target's URL: %w", err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	session.Encode(config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return TargetRole{}, fmt.Errorf("connect to the target: %w", err)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(end)
	}()
	if _, err := conn.Exec(ctx, `SET search_path = pg_catalog, pg_temp`); err != nil {
		return TargetRole{}, fmt.Errorf("look at the target: %w", err)
	}
	const q = `-- doctor_target
SELECT current_user::text, pg_postmaster_start_time()::text = $1,
       r.rolsuper OR r.rolcreaterole OR EXISTS (SELECT FROM pg_roles m WHERE m.rolname = ANY (` + mightyRoles + `) AND pg_has_role(current_user, m.oid, 'MEMBER')),
       coalesce((SELECT m.rolname::text FROM pg_roles m WHERE m.rolname = ANY ($2::text[]) AND pg_has_role(current_user, m.oid, 'MEMBER')
                 ORDER BY array_position($2::text[], m.rolname::text) LIMIT 1), '')
FROM pg_roles r WHERE r.rolname = current_user`
	var t TargetRole
	if err := conn.QueryRow(ctx, q, start, []string{sidecar, owner, "rowrun_replica"}).Scan(&t.Name, &t.Here, &t.Superuser, &t.Lends); err != nil {
		return TargetRole{}, fmt.Errorf("look at the target: %w", err)
	}
	return t, nil
}
