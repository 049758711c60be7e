package commands

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
		d.add("schema", warning, err.Error(), "rowrun migrate up  # with another --database-url")
		return nil
	}
	if err != nil {
		return err
	}
	d.schema = version
	latest := int64(migrations.Version())
	switch {
	case version == 0:
		d.add("schema", warning, "the database has no schema of Rowrun's", "rowrun migrate up")
	case version < latest:
		d.add("schema", warning, fmt.Sprintf("the schema is at version %d, this program needs %d", version, latest), "rowrun migrate up")
	case version == latest && d.codeMissing(ctx):
		d.schema = 0 // nothing that asks a function can be asked
	case version > latest:
		d.add("schema", note, fmt.Sprintf("the schema is at version %d, this program knows %d: it works, a newer one is about", version, latest),
			"rowrun version  # then install the release that migrated the database")
	default:
		d.add("schema", fine, fmt.Sprintf("version %d", version), "")
	}
	if version == 0 {
		return nil
	}
	status, err := migrations.ReadStatus(ctx, migrations.Config{URL: d.database.DirectURL})
	if err == nil && status.Dirty {
		d.add("schema", warning, fmt.Sprintf("migration %d was interrupted", status.Version), "rowrun migrate up")
	}
	return nil //nolint:nilerr // who may not read that flag isn't told of it
}

// codeMissing says that the schema lacks its functions, or has those of an earlier release.
func (d *doctor) codeMissing(ctx context.Context) bool {
	release, _, err := d.store.SchemaCode(ctx)
	switch own := migrations.OwnCode().Release; {
	case err != nil || release >= own:
		return false // who may not read that is told of its privileges
	case release == 0:
		d.add("schema", warning, "the schema has tables but no functions: a migration was interrupted", "rowrun migrate up")
	default:
		d.add("schema", warning, fmt.Sprintf("the schema's code is of release %d, this program needs %d", release, own), "rowrun migrate up")
	}
	return true
}

func (d *doctor) checkPrivileges(ctx context.Context) error {
	missing, err := d.store.MissingPrivileges(ctx)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		d.add("privileges", fine, "role "+d.server.Role+" may do what a sidecar needs", "")
		return nil
	}
	d.add("privileges", warning, fmt.Sprintf("role %s lacks %d privileges that a sidecar needs: %s", d.server.Role, len(missing), firstFew(missing)), d.grants())
	return nil
}

// firstFew names the first few.
func firstFew(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// checkDrift compares the schema with what the migrations made.
func (d *doctor) checkDrift(ctx context.Context) error {
	if d.schema > int64(migrations.Version()) {
		return nil // what it should be is not known here
	}
	drift, err := migrations.ReadDrift(ctx, migrations.Config{URL: d.database.DirectURL})
	switch {
	case err != nil:
		return err
	case len(drift.Steps) > 0:
		d.add("drift", warning, "the schema was made with another text than this program has of "+strings.Join(drift.Steps, ", ")+": applied table steps are frozen",
			"rowrun version  # then use the release that migrated the database")
		return nil
	case len(drift.Code) > 0:
		d.add("drift", warning, fmt.Sprintf("%d objects have another source than this program's, the last `rowrun migrate up` was another build's: %s",
			len(drift.Code), firstFew(drift.Code)), "rowrun migrate up")
	}
	switch {
	case !drift.Known:
		d.add("drift", note, "what the schema should be isn't recorded, the migrations were applied by hand", "rowrun migrate up")
		return nil
	}
	var changed []string
	for _, o := range drift.Differences {
		name := o.Kind + " " + o.Name
		switch o.How {
		case "foreign":
			d.add("drift", note, name+" is not Rowrun's", "DROP TRIGGER "+o.Name+"; -- unless you want it")
		case "disabled":
			trigger, table, _ := strings.Cut(o.Name, " ON ")
			d.add("drift", warning, name+" is disabled: statuses or notifications go wrong", "ALTER TABLE "+table+" ENABLE TRIGGER "+trigger+";")
		case "missing", "invalid":
			changed = append(changed, name+" is "+o.How)
		default:
			changed = append(changed, name+" is not as the migrations make it")
		}
	}
	if len(changed) > 0 {
		d.add("drift", warning, firstFew(changed), "rowrun migrate repair  # as the owner of the schema")
	}
	if len(drift.Differences) == 0 && len(drift.Code) == 0 {
		d.add("drift", fine, fmt.Sprintf("%d functions, views, triggers, constraints, indexes and grants are those of the migrations", drift.Objects), "")
	}
	return nil
}
