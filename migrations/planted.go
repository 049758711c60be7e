package migrations

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// refusePlanted looks whether somebody else was in the schema first. Whoever may create in the database can make a schema
// of our name, with a table whose triggers, or an operator that, run with the rights of who migrates. A schema that holds
// nothing of ours yet must therefore belong to the role that migrates, to one that it is a member of, or to a superuser;
// and what is in the schema to its owner, to a member of its owner's, or to a superuser.
func (s *session) refusePlanted(ctx context.Context) error {
	const owner = `SELECT o.rolname::text, current_user::text,
       o.rolsuper OR o.rolname = current_user OR (NOT me.rolsuper AND pg_catalog.pg_has_role(o.oid, 'MEMBER'))
FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles o ON o.oid = n.nspowner
CROSS JOIN pg_catalog.pg_roles me
WHERE n.nspname = 'rowrun' AND me.rolname = current_user`
	var name, me string
	var trusted bool
	if err := s.conn.QueryRow(ctx, owner).Scan(&name, &me, &trusted); err != nil {
		return fmt.Errorf("look for the owner of schema rowrun: %w", err)
	}
	const foreign = `SELECT o.what, r.rolname::text
FROM pg_catalog.pg_namespace n CROSS JOIN LATERAL (
    SELECT 'relation ' || c.oid::pg_catalog.regclass AS what, c.relowner AS owner FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid
    UNION ALL SELECT 'function ' || f.oid::pg_catalog.regprocedure, f.proowner FROM pg_catalog.pg_proc f WHERE f.pronamespace = n.oid
    UNION ALL SELECT 'operator ' || p.oid::pg_catalog.regoperator, p.oprowner FROM pg_catalog.pg_operator p WHERE p.oprnamespace = n.oid
    UNION ALL SELECT 'type ' || t.oid::pg_catalog.regtype, t.typowner FROM pg_catalog.pg_type t WHERE t.typnamespace = n.oid
) o JOIN pg_catalog.pg_roles r ON r.oid = o.owner
WHERE n.nspname = 'rowrun' AND NOT r.rolsuper AND NOT pg_catalog.pg_has_role(r.oid, n.nspowner, 'MEMBER')
ORDER BY 1 LIMIT 1`
	if !trusted {
		return fmt.Errorf("schema rowrun belongs to %s, whose code would run with the rights of %s: look at it, then "+
			"ALTER SCHEMA rowrun OWNER TO %s or DROP it, or migrate as %s", name, me, me, name)
	}
	var what, whose string
	err := s.conn.QueryRow(ctx, foreign).Scan(&what, &whose)
	switch {
	case err == nil:
		return fmt.Errorf("%s belongs to %s, not to the owner of schema rowrun: it would run with the rights of %s; look at it, then drop it or give it to %s",
			what, whose, me, name)
	case !errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("look at schema rowrun: %w", err)
	}
	return nil
}
