package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
)

func (d *doctor) checkSchema(ctx context.Context) error {
	version, err := d.store.SchemaVersion(ctx)
	if errors.Is(err, store.ErrOldSchema) {
		d.add("schema", Warning, err.Error(), "rowrun migrate up  # with another --database-url")
		return nil
	}
	if err != nil {
		return err
	}
	d.schema = version
	latest := int64(migrations.Version())
	switch {
	case version == 0:
		d.add("schema", Warning, "the database has no schema of Rowrun's", "rowrun migrate up")
	case version < latest:
		d.add("schema", Warning, fmt.Sprintf("the schema is at version %d, this program needs %d", version, latest), "rowrun migrate up")
	case version == latest && d.codeMissing(ctx):
		d.schema = 0 // nothing that asks a function can be asked
	case version > latest:
		d.add("schema", Note, fmt.Sprintf("the schema is at version %d, this program knows %d: it works, a newer one is about", version, latest),
			"rowrun version  # then install the release that migrated the database")
	default:
		d.add("schema", Fine, fmt.Sprintf("version %d", version), "")
	}
	if version == 0 {
		return nil
	}
	status, err := migrations.ReadStatus(ctx, migrations.Config{URL: d.Database.DirectURL})
	if err == nil && status.Dirty {
		d.add("schema", Warning, fmt.Sprintf("migration %d was interrupted", status.Version), "rowrun migrate up")
	}
	return nil //nolint:nilerr // who may not read that flag isn't told of it
}

// codeMissing says that the schema lacks its functions, or has those of an earlier release.
func (d *doctor) codeMissing(ctx context.Context) bool {
	release, _, err := d.store.SchemaCode(ctx)
	switch own := migrations.Release(); {
	case err != nil || release >= own:
		return false // who may not read that is told of its privileges
	case release == 0:
		d.add("schema", Warning, "the schema has tables but no functions: a migration was interrupted", "rowrun migrate up")
	default:
		d.add("schema", Warning, fmt.Sprintf("the schema's code is of release %d, this program needs %d", release, own), "rowrun migrate up")
	}
	return true
}

func (d *doctor) checkPrivileges(ctx context.Context) error {
	missing, err := d.store.MissingPrivileges(ctx)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		d.add("privileges", Fine, "role "+d.server.Role+" may do what a sidecar needs", "")
		return nil
	}
	d.add("privileges", Warning, fmt.Sprintf("role %s lacks %d privileges that a sidecar needs: %s", d.server.Role, len(missing), firstFew(missing)), d.grants())
	return nil
}

// checkDrift compares the schema with what the migrations made.
func (d *doctor) checkDrift(ctx context.Context) error {
	if d.schema > int64(migrations.Version()) {
		return nil // what it should be is not known here
	}
	drift, err := migrations.ReadDrift(ctx, migrations.Config{URL: d.Database.DirectURL})
	switch {
	case err != nil:
		return err
	case len(drift.Steps) > 0:
		d.add("drift", Warning, "the schema was made with another text than this program has of "+strings.Join(drift.Steps, ", ")+": applied table steps are frozen",
			"rowrun version  # then use the release that migrated the database")
		return nil
	case len(drift.Code) > 0:
		d.add("drift", Warning, fmt.Sprintf("%d objects have another source than this program's, the last `rowrun migrate up` was another build's: %s",
			len(drift.Code), firstFew(drift.Code)), "rowrun migrate up")
	}
	switch {
	case !drift.Known:
		d.add("drift", Note, "what the schema should be isn't recorded, the migrations were applied by hand", "rowrun migrate up")
		return nil
	}
	var changed []string
	for _, o := range drift.Differences {
		name := o.Kind + " " + o.Name
		switch o.How {
		case "foreign":
			d.add("drift", Note, name+" is not Rowrun's", "DROP TRIGGER "+o.Name+"; -- unless you want it")
		case "disabled":
			trigger, table, _ := strings.Cut(o.Name, " ON ")
			d.add("drift", Warning, name+" is disabled: statuses or notifications go wrong", "ALTER TABLE "+table+" ENABLE TRIGGER "+trigger+";")
		case "missing", "invalid":
			changed = append(changed, name+" is "+o.How)
		default:
			changed = append(changed, name+" is not as the migrations make it")
		}
	}
	if len(changed) > 0 {
		d.add("drift", Warning, firstFew(changed), "rowrun migrate repair  # as the owner of the schema")
	}
	if len(drift.Differences) == 0 && len(drift.Code) == 0 {
		d.add("drift", Fine, fmt.Sprintf("%d functions, views, triggers, constraints, indexes and grants are those of the migrations", drift.Objects), "")
	}
	return nil
}

// checkSequences looks for ids that will be drawn though they stand in their table: whoever inserts then fails (23505).
func (d *doctor) checkSequences(ctx context.Context) error {
	behind, err := d.store.SequencesBehind(ctx)
	if err != nil {
		return err
	}
	for _, s := range behind {
		d.add("sequence", Warning, fmt.Sprintf("%s draws %d next, and %s holds ids up to %d (rows were restored with their ids): INSERTs fail with 23505 until it is past them",
			s.Name, s.Next, s.Table, s.Behind),
			fmt.Sprintf("SELECT setval(%s, (SELECT max(id) FROM %s));", quoteLiteral(s.Name), s.Table))
	}
	if len(behind) == 0 {
		d.add("sequence", Fine, "every sequence is past the ids of its table", "")
	}
	return nil
}
