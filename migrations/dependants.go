package migrations

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// needsDrop says that CREATE OR REPLACE can't make an object: it has another result, other columns, is of another kind, or is
// a constraint trigger.
func needsDrop(err error) bool { return is(err, "42P13", "42P16", "42809", "42710") }

// lookUp finds what goes along with an object, once.
func (a *application) lookUp(ctx context.Context, key string) (err error) {
	if _, known := a.along[key]; !known {
		a.along[key], err = a.dependants(ctx, key)
	}
	return err
}

// dependant is what goes along when an object is dropped; its key is empty where it isn't ours.
type dependant struct {
	Key, Description string
}

func (a *application) dependants(ctx context.Context, key string) ([]dependant, error) {
	keys := slices.Collect(maps.Keys(a.has))
	for _, o := range a.want.objects {
		keys = append(keys, o.key())
	}
	rows, err := a.tx.Query(ctx, dependantsSQL, keys, key)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[dependant])
}

// dependantsSQL lists what goes along when $2, one of the objects $1, is dropped. Rules are their views', and a constraint
// trigger's constraint is its own.
const dependantsSQL = `-- dependants
WITH RECURSIVE ours AS (
    SELECT DISTINCT ON (d.class, d.id) k.key, d.class::oid AS class, d.id
    FROM (SELECT key, split_part(key, ' ', 1) AS kind, substr(key, strpos(key, ' ') + 1) AS name FROM unnest($1::text[]) key) k
    CROSS JOIN LATERAL (
        SELECT 'pg_catalog.pg_proc'::regclass AS class, to_regprocedure(k.name)::oid AS id WHERE k.kind IN ('function', 'procedure')
        UNION ALL
        SELECT 'pg_catalog.pg_class'::regclass, to_regclass(k.name)::oid WHERE k.kind = 'view'
        UNION ALL
        SELECT 'pg_catalog.pg_trigger'::regclass, t.oid FROM pg_catalog.pg_trigger t
        WHERE k.kind = 'trigger' AND NOT t.tgisinternal AND t.tgname = split_part(k.name, ' ON ', 1)
          AND t.tgrelid = to_regclass(split_part(k.name, ' ON ', 2))
    ) d WHERE d.id IS NOT NULL
), gone AS (
    SELECT o.class, o.id FROM ours o WHERE o.key = $2
    UNION
    SELECT n.class, n.id FROM gone g CROSS JOIN LATERAL (
        SELECT d.classid AS class, d.objid AS id FROM pg_catalog.pg_depend d
        WHERE d.refclassid = g.class AND d.refobjid = g.id AND d.deptype IN ('n', 'a', 'i')
        UNION ALL
        SELECT d.refclassid, d.refobjid FROM pg_catalog.pg_depend d
        WHERE d.classid = g.class AND d.objid = g.id AND g.class = 'pg_catalog.pg_rewrite'::regclass AND d.deptype = 'i'
    ) n
)
SELECT coalesce(o.key, ''), pg_catalog.pg_describe_object(g.class, g.id, 0)
FROM gone g LEFT JOIN ours o ON o.class = g.class AND o.id = g.id
WHERE o.key IS DISTINCT FROM $2 AND (o.key IS NOT NULL OR g.class NOT IN ('pg_catalog.pg_rewrite'::regclass, 'pg_catalog.pg_type'::regclass))
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c WHERE g.class = 'pg_catalog.pg_constraint'::regclass AND c.oid = g.id AND c.contype = 't')
ORDER BY 1, 2`
