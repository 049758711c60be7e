package doctor

import (
	"context"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
	"github.com/rowrun/rowrun/store/connect"
)

// ownRole is what mends a role that may too much: one that may only what a sidecar needs.
const ownRole = "CREATE ROLE rowrun_sidecar LOGIN PASSWORD '…' IN ROLE rowrun_replica; -- and use it in --database-url; what `rowrun migrate` does stays with "

// targetsAtOnce is how many targets are looked at, so that those which don't answer leave time for the rest.
const targetsAtOnce = 16

// checkRole looks whether the role may more than a sidecar needs. What executes in a session of the sidecar's, by
// whatever mistake, has the rights of this role.
func (d *doctor) checkRole(ctx context.Context) error {
	facts, err := d.store.RoleFacts(ctx)
	if err != nil {
		return err
	}
	d.owner = facts.Owner
	role, before := quoteIdentifier(d.server.Role), len(d.findings)
	switch {
	case facts.Superuser:
		d.add("role", Warning, "role "+d.server.Role+" is a superuser: a sidecar needs no more than rowrun_replica", ownRole+role)
		return nil // the rest follows from it
	case facts.IsOwner:
		d.add("role", Warning, "role "+d.server.Role+" owns Rowrun's tables, or may become "+facts.Owner+", who does: a sidecar needs no more than rowrun_replica", ownRole+role)
	case facts.OwnsDatabase:
		d.add("role", Warning, "role "+d.server.Role+" owns the database, or may become who does: a sidecar needs no more than rowrun_replica", ownRole+role)
	case facts.CreatesInPublic:
		d.add("role", Warning, "role "+d.server.Role+" may create in schema public", "REVOKE CREATE ON SCHEMA public FROM PUBLIC, "+role+";")
	}
	if facts.CreateRole {
		d.add("role", Warning, "role "+d.server.Role+" has CREATEROLE", "ALTER ROLE "+role+" NOCREATEROLE;")
	}
	if facts.BypassRLS {
		d.add("role", Warning, "role "+d.server.Role+" has BYPASSRLS", "ALTER ROLE "+role+" NOBYPASSRLS;")
	}
	for _, mighty := range facts.Mighty {
		d.add("role", Warning, "role "+d.server.Role+" is a member of "+mighty, "REVOKE "+mighty+" FROM "+role+";")
	}
	if len(d.findings) == before {
		d.add("role", Fine, "role "+d.server.Role+" may no more than a sidecar needs, as far as Rowrun goes", "")
	}
	return nil
}

// checkAttachments looks for code of others in what the sidecar does.
func (d *doctor) checkAttachments(ctx context.Context) error {
	found, err := d.store.Attachments(ctx)
	if err != nil {
		return err
	}
	for _, a := range found {
		d.add("attached", Warning, a.What+": who has that may run code as the sidecar", a.Fix)
	}
	if len(found) == 0 {
		d.add("attached", Fine, "nobody but the owner may attach code to the tables", "")
	}
	return nil
}

// checkTargets looks whether who writes SQL tasks gets Rowrun's own rights by a target database of --config.
func (d *doctor) checkTargets(ctx context.Context) error {
	file, err := replica.ReadFile(d.ConfigPath)
	if err != nil {
		d.add("target", Note, "the target databases were not looked at: "+database.InWords(err).Error(), "rowrun doctor --config FILE  # the one that the sidecars have")
		return nil
	}
	if err := d.checkSetAside(ctx); err != nil {
		return err
	}
	d.checkSources(ctx, file)
	names := slices.Sorted(maps.Keys(file.Databases))
	each := make([]doctor, len(names)) // with its own findings
	var looks errgroup.Group
	looks.SetLimit(targetsAtOnce)
	for i, name := range names {
		one := &each[i]
		one.Config, one.store, one.server, one.owner = d.Config, d.store, d.server, d.owner
		looks.Go(func() error {
			one.checkTarget(ctx, name, file.Databases[name])
			return nil
		})
	}
	_ = looks.Wait()
	for i := range each {
		d.findings = append(d.findings, each[i].findings...)
	}
	return nil
}

// checkTarget looks at one target.
func (d *doctor) checkTarget(ctx context.Context, name string, given replica.FileDatabase) {
	if ctx.Err() != nil {
		d.add("target", Warning, "database "+name+" was not looked at: too many others did not answer", "rowrun doctor --config FILE  # once they do")
		return
	}
	known, err := given.Resolve("databases."+name, d.Lookup)
	if err != nil {
		d.add("target", Note, "database "+name+" was not looked at: "+database.InWords(err).Error(), "rowrun doctor --config FILE  # where the sidecar's variables and files are")
		return
	}
	again := "rowrun doctor --config FILE  # once databases." + name + ".url leads there"
	if !known.IsPostgreSQL() {
		d.lookAtTarget(ctx, name, known, again)
		return
	}
	role, err := d.store.TargetRole(ctx, known.URL, d.server.Role, d.owner)
	if err != nil {
		d.add("target", Warning, "database "+name+" can't be reached, its runs will fail: "+connect.Diagnose(err).Text, again)
		return
	}
	mend := "CREATE ROLE " + quoteIdentifier("rowrun_on_"+shortName(name)) + " LOGIN PASSWORD '…'; -- grant it what the tasks need, and use it in databases." + name + ".url"
	switch {
	case role.Here && role.Superuser:
		d.add("target", Warning, "database "+name+" is on the server of Rowrun's own, and reached with "+role.Name+
			", who rules there: so does whoever may write SQL tasks", mend)
	case role.Here && role.Lends != "":
		d.add("target", Warning, "database "+name+" is on the server of Rowrun's own, and reached with "+role.Name+
			", who may act as "+role.Lends+": whoever may write SQL tasks is the sidecar", mend)
	default:
		d.add("target", Fine, "database "+name+" (PostgreSQL) is reached with "+role.Name+", who has no rights of Rowrun's", "")
	}
}

// lookAtTarget tries a target that is not PostgreSQL.
func (d *doctor) lookAtTarget(ctx context.Context, name string, target replica.FileDatabase, again string) {
	engine, _ := target.Engine() // Resolve has told it
	facts, err := target.Look(ctx)
	if err != nil {
		d.add("target", Warning, "database "+name+" ("+string(engine)+") can't be reached, its runs will fail: "+err.Error(), again)
		return
	}
	text := "database " + name + " (" + string(facts.Engine) + " " + facts.Version + ")"
	for _, doubt := range facts.Doubts {
		d.add("target", Warning, text+": "+doubt, again)
	}
	d.add("target", Fine, strings.Join(append([]string{text + " is reached as " + facts.Login}, facts.Notes...), "; "), "")
}

// shortName is a name of which the role's name may be made.
func shortName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
	return name[:min(len(name), 50)]
}
