package sqlexec

import (
	"context"
	"errors"
	"fmt"
)

const (
	// ledgerPrivate takes from everybody else what default privileges gave them on what was just created.
	ledgerPrivate = `-- rowrun_ledger_private
DO $$
DECLARE
    excess record;
BEGIN
    FOR excess IN
        SELECT DISTINCT o.object, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::pg_catalog.regrole::pg_catalog.text END AS grantee
        FROM (SELECT 'TABLE rowrun_migration.ledger', c.relowner, c.relacl FROM pg_catalog.pg_class c
              WHERE c.oid = 'rowrun_migration.ledger'::pg_catalog.regclass
              UNION ALL
              SELECT 'SCHEMA rowrun_migration', n.nspowner, n.nspacl FROM pg_catalog.pg_namespace n WHERE n.nspname = 'rowrun_migration'
             ) o(object, owner, acl) CROSS JOIN LATERAL pg_catalog.aclexplode(o.acl) a
        WHERE a.grantee <> o.owner AND a.grantee <> (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user)
    LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON %s FROM %s CASCADE', excess.object, excess.grantee);
    END LOOP;
END $$`

	// ledgerDoubt says why the ledger can't be written to, or nothing. Who owns its schema or itself, or may attach
	// something to it, has code of his run as the role of this session. That may be this role itself, one that it is a
	// member of, the database's owner (who may have made it for a role that can't) or a superuser; where this role is a
	// superuser, only another one.
	ledgerDoubt = `-- rowrun_ledger_doubt
WITH me AS MATERIALIZED (
    SELECT r.oid, r.rolsuper, r.rolname FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
), doubted AS MATERIALIZED (
    SELECT r.oid, r.rolname FROM pg_catalog.pg_roles r CROSS JOIN me CROSS JOIN pg_catalog.pg_database b
    WHERE b.datname = pg_catalog.current_database() AND NOT r.rolsuper AND r.oid <> me.oid
      AND (me.rolsuper OR NOT (pg_catalog.pg_has_role(me.oid, r.oid, 'MEMBER') OR pg_catalog.pg_has_role(r.oid, b.datdba, 'MEMBER')))
), ledger AS MATERIALIZED (
    SELECT c.oid, c.relowner, c.relacl, c.relkind, n.nspowner, n.nspacl
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = 'rowrun_migration.ledger'::pg_catalog.regclass
)
SELECT coalesce(
    (SELECT 'its schema belongs to ' || d.rolname FROM ledger l JOIN doubted d ON d.oid = l.nspowner),
    (SELECT 'it belongs to ' || d.rolname FROM ledger l JOIN doubted d ON d.oid = l.relowner),
    (SELECT 'it is no table' FROM ledger l WHERE l.relkind <> 'r'),
    (SELECT 'it has the trigger ' || t.tgname FROM ledger l JOIN pg_catalog.pg_trigger t ON t.tgrelid = l.oid WHERE NOT t.tgisinternal LIMIT 1),
    (SELECT 'it has the rule ' || w.rulename FROM ledger l JOIN pg_catalog.pg_rewrite w ON w.ev_class = l.oid LIMIT 1),
    (SELECT 'table ' || i.inhrelid::pg_catalog.regclass || ' inherits from it' FROM ledger l JOIN pg_catalog.pg_inherits i ON i.inhparent = l.oid LIMIT 1),
    (SELECT 'table ' || k.conrelid::pg_catalog.regclass || ' refers to it' FROM ledger l JOIN pg_catalog.pg_constraint k ON k.confrelid = l.oid LIMIT 1),
    (SELECT coalesce(d.rolname, 'PUBLIC') || ' has ' || a.privilege_type || ' on it'
     FROM ledger l CROSS JOIN LATERAL pg_catalog.aclexplode(l.relacl) a LEFT JOIN doubted d ON d.oid = a.grantee
     WHERE (a.grantee = 0 OR d.oid IS NOT NULL) AND a.privilege_type IN ('TRIGGER', 'REFERENCES') LIMIT 1),
    (SELECT coalesce(d.rolname, 'PUBLIC') || ' may create in its schema'
     FROM ledger l CROSS JOIN LATERAL pg_catalog.aclexplode(l.nspacl) a LEFT JOIN doubted d ON d.oid = a.grantee
     WHERE (a.grantee = 0 OR d.oid IS NOT NULL) AND a.privilege_type = 'CREATE' LIMIT 1)), (SELECT me.rolname FROM me)`
)

// trustLedger makes sure that writing to the ledger runs nobody else's code: whoever may create in the target can make
// a table of its name before the first migration does.
func (s *session) trustLedger(ctx context.Context) error {
	rows, err := s.query(ctx, ledgerDoubt)
	switch {
	case err != nil:
		return fmt.Errorf("look at the ledger rowrun_migration.ledger: %w", err)
	case len(rows) != 1 || len(rows[0]) != 2:
		return errors.New("look at the ledger rowrun_migration.ledger: no answer")
	case rows[0][0] != "":
		return fmt.Errorf("the ledger rowrun_migration.ledger is not used: %s, whose code would run with the rights of %s. "+
			"Look at it, then take that away, or give schema and table to that role (ALTER SCHEMA …, ALTER TABLE … OWNER TO)", rows[0][0], rows[0][1])
	}
	return nil
}
