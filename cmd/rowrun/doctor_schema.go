package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/rowrun/rowrun/migrations"
)

func (d *doctor) checkSchema(ctx context.Context) error {
	version, err := d.store.SchemaVersion(ctx)
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

func (d *doctor) checkPrivileges(ctx context.Context) error {
	missing, err := d.store.MissingPrivileges(ctx)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		d.add("privileges", fine, "role "+d.server.Role+" may do what a sidecar needs", "")
		return nil
	}
	d.add("privileges", warning, fmt.Sprintf("role %s lacks %d privileges that a sidecar needs: %s", d.server.Role, len(missing), firstFew(missing)),
		"rowrun migrate grants; GRANT rowrun_replica TO "+quoteIdentifier(d.server.Role)+";")
	return nil
}

// firstFew names the first few.
func firstFew(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// checkDrift compares triggers and functions with those of the migrations.
func (d *doctor) checkDrift(ctx context.Context) error {
	if d.schema > int64(migrations.Version()) {
		return nil // what they should be is not known here
	}
	want, err := migratedObjects()
	if err != nil {
		return err
	}
	before := len(d.findings)
	triggers, err := d.store.Triggers(ctx)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for _, t := range triggers {
		name := t.Table + "." + t.Name
		found[name] = true
		switch {
		case !want.triggers[name]:
			d.add("drift", note, "trigger "+t.Name+" on rowrun."+t.Table+" is not Rowrun's", "DROP TRIGGER "+quoteIdentifier(t.Name)+" ON rowrun."+quoteIdentifier(t.Table)+"; -- unless you want it")
		case !t.Enabled:
			d.add("drift", warning, "trigger "+t.Name+" on rowrun."+t.Table+" is disabled: statuses or notifications go wrong",
				"ALTER TABLE rowrun."+quoteIdentifier(t.Table)+" ENABLE TRIGGER "+quoteIdentifier(t.Name)+";")
		}
	}
	for _, name := range want.names() {
		if !found[name] {
			table, trigger, _ := strings.Cut(name, ".")
			d.add("drift", warning, "trigger "+trigger+" on rowrun."+table+" is missing", "rowrun migrate sql  # find its CREATE TRIGGER and run that")
		}
	}
	functions, err := d.store.Functions(ctx)
	if err != nil {
		return err
	}
	for _, f := range functions {
		if bodies := want.functions[f.Name]; len(bodies) > 0 && !slices.Contains(bodies, strings.TrimSpace(f.Body)) {
			d.add("drift", warning, "function rowrun."+f.Name+" is not that of the migrations", "rowrun migrate sql  # find its CREATE FUNCTION and run that with OR REPLACE")
		}
	}
	if err := d.checkPublication(ctx, want.published); err != nil {
		return err
	}
	if len(d.findings) == before {
		d.add("drift", fine, fmt.Sprintf("%d triggers and %d functions are those of the migrations", len(want.triggers), len(functions)), "")
	}
	return nil
}

func (d *doctor) checkPublication(ctx context.Context, want []string) error {
	published, err := d.store.Published(ctx)
	if err != nil {
		return err
	}
	var missing []string
	for _, column := range want {
		if !slices.Contains(published, column) {
			missing = append(missing, column)
		}
	}
	if len(missing) > 0 {
		d.add("drift", warning, "publication rowrun_stream is missing, or lacks inserts, updates or the columns "+firstFew(missing)+": the stream can't be read from the log",
			"DROP PUBLICATION IF EXISTS rowrun_stream; -- then rowrun migrate sql, and run its CREATE PUBLICATION")
	}
	return nil
}

// migrated are the triggers, PL/pgSQL functions and published columns that the migrations leave behind.
type migrated struct {
	triggers  map[string]bool     // table.name
	functions map[string][]string // bodies by name; several where one is replaced or overloaded
	published []string            // columns of task_run that the stream reads
}

func (m *migrated) names() []string {
	var names []string
	for name := range m.triggers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// migratedObjects reads the text of the migrations: what the database should
// hold is written down nowhere else.
func migratedObjects() (*migrated, error) {
	text, err := migrations.SQL(0)
	if err != nil {
		return nil, err
	}
	statement := regexp.MustCompile(`(?is)\b(CREATE|DROP)\s+(?:OR\s+REPLACE\s+)?(?:CONSTRAINT\s+)?TRIGGER\s+(?:IF\s+EXISTS\s+)?(\w+)\s[^;]*?\bON\s+rowrun\.(\w+)`)
	m := &migrated{triggers: map[string]bool{}, functions: map[string][]string{}}
	bare := regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(text, "")
	for _, s := range statement.FindAllStringSubmatch(bare, -1) {
		if strings.EqualFold(s[1], "CREATE") {
			m.triggers[s[3]+"."+s[2]] = true
		} else {
			delete(m.triggers, s[3]+"."+s[2])
		}
	}
	function := regexp.MustCompile(`(?is)\bCREATE\s+(?:OR\s+REPLACE\s+)?FUNCTION\s+rowrun\.(\w+)\s*\([^$;]*?\bAS\s+\$\$(.*?)\$\$`)
	for _, s := range function.FindAllStringSubmatch(text, -1) {
		m.functions[s[1]] = append(m.functions[s[1]], strings.TrimSpace(s[2]))
	}
	publication := regexp.MustCompile(`(?is)\bCREATE\s+PUBLICATION\s+rowrun_stream\s+FOR\s+TABLE\s+rowrun\.task_run\s*\(([^)]*)\)`)
	for _, s := range publication.FindAllStringSubmatch(bare, -1) {
		m.published = strings.FieldsFunc(s[1], func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	}
	return m, nil
}
