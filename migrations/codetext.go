package migrations

import (
	"fmt"
	"strings"
)

// keys are those of all objects, as SQL literals.
func (c *codeFiles) keys() []string {
	list := make([]string, len(c.objects))
	for i, o := range c.objects {
		list[i] = literal(o.key())
	}
	return list
}

// records are the statements that say that this code was applied.
func (c *codeFiles) records() string {
	var b strings.Builder
	b.WriteString("INSERT INTO rowrun.code_object (object, hash, position) VALUES")
	for i, o := range c.objects {
		fmt.Fprintf(&b, "%s\n    (%s, '%s', %d)", strings.Repeat(",", min(i, 1)), literal(o.key()), o.hash, i+1)
	}
	b.WriteString("\nON CONFLICT (object) DO UPDATE SET hash = excluded.hash, position = excluded.position, retired_in = NULL;\n")
	fmt.Fprintf(&b, "INSERT INTO rowrun.code_version (release, hash) VALUES (%d, '%s')\n", c.release, c.hash())
	b.WriteString("ON CONFLICT (singleton) DO UPDATE SET release = excluded.release, hash = excluded.hash, applied_at = excluded.applied_at;\n")
	return b.String()
}

// renaming is the text that renames the functions which the files have with other arguments only, and records them as
// retired: a call that a replica or an application has begun ends on the same function, and what is called from then on is
// that of the files. A body that tells its arguments from columns by the name of its function (run_task.task) says the new name.
func (c *codeFiles) renaming() string {
	families := make([]string, len(c.objects))
	for i, o := range c.objects {
		families[i] = literal(family(o.key()))
	}
	return fmt.Sprintf(`DO $$
DECLARE
    found record;
    old regprocedure;
BEGIN
    FOR found IN
        SELECT o.object, split_part(o.object, ' ', 1) AS kind, substr(o.object, strpos(o.object, ' ') + 1) AS name,
               split_part(split_part(o.object, '.', 2), '(', 1) || '_before_release_%[1]d' AS renamed, substr(o.object, strpos(o.object, '(')) AS arguments
        FROM rowrun.code_object o
        WHERE o.object ~ '^(function|procedure) ' AND coalesce(o.retired_in, %[1]d) = %[1]d
          AND split_part(o.object, '(', 1) IN (%[2]s)
          AND o.object NOT IN (%[3]s)
    LOOP
        EXECUTE format('DROP %%s IF EXISTS rowrun.%%I%%s', found.kind, found.renamed, found.arguments);
        DELETE FROM rowrun.code_object o WHERE o.object = format('%%s rowrun.%%s%%s', found.kind, found.renamed, found.arguments);
        IF to_regprocedure(found.name) IS NOT NULL THEN
            old := found.name::regprocedure;
            EXECUTE format('ALTER %%s %%s RENAME TO %%I', found.kind, found.name, found.renamed);
            EXECUTE regexp_replace(pg_get_functiondef(old), '\m' || split_part(split_part(found.name, '.', 2), '(', 1) || '\.', found.renamed || '.', 'g');
        END IF;
        UPDATE rowrun.code_object o SET object = format('%%s rowrun.%%s%%s', found.kind, found.renamed, found.arguments), retired_in = %[1]d
        WHERE o.object = found.object;
    END LOOP;
END $$;
`, c.release, strings.Join(families, ", "), strings.Join(c.keys(), ", "))
}

// removal is the text that removes what is recorded of the code, where that is so. What depends on an object goes before
// it: who refers to whom only the server knows, so they are tried until none is left.
func removal(where string) string {
	return `DO $$
DECLARE
    found text;
    left_over integer;
    before integer;
    trouble text;
BEGIN
    LOOP
        before := left_over;
        SELECT count(*) INTO left_over FROM rowrun.code_object o WHERE ` + where + `;
        EXIT WHEN left_over = 0;
        IF left_over = before THEN
            RAISE EXCEPTION 'the code can''t be removed: %', trouble USING ERRCODE = 'dependent_objects_still_exist';
        END IF;
        FOR found IN SELECT o.object FROM rowrun.code_object o WHERE ` + where + ` ORDER BY o.position DESC LOOP
            BEGIN
                IF found !~ '^(grants|roles) ' THEN
                    EXECUTE 'DROP ' || overlay(found PLACING ' IF EXISTS ' FROM strpos(found, ' ') FOR 1);
                END IF;
                DELETE FROM rowrun.code_object o WHERE o.object = found;
            EXCEPTION WHEN dependent_objects_still_exist THEN
                GET STACKED DIAGNOSTICS trouble = PG_EXCEPTION_DETAIL;
            END;
        END LOOP;
    END LOOP;
END $$;
`
}

// replacement is the text by which a person applies the code over another one.
func (c *codeFiles) replacement() string {
	var b strings.Builder
	b.WriteString(c.renaming())
	fmt.Fprintf(&b, "UPDATE rowrun.code_object\nSET retired_in = CASE WHEN object ~ '^(trigger|grants|roles) ' THEN 0 ELSE %d END\n"+
		"WHERE coalesce(retired_in, %[1]d) = %[1]d AND object NOT IN (%s);\n", c.release, strings.Join(c.keys(), ", "))
	b.WriteString(removal(fmt.Sprintf("o.retired_in < %d", c.release)))
	file := ""
	for _, o := range c.objects {
		if o.path != file {
			file = o.path
			fmt.Fprintf(&b, "\n-- code/%s\n", file)
		}
		if o.make != "" && !o.replace {
			fmt.Fprintf(&b, "DROP %s IF EXISTS %s;\n", strings.ToUpper(o.kind), o.name)
		}
		for _, text := range o.texts() {
			b.WriteString(text + ";\n")
		}
	}
	return b.String() + "\n" + c.records()
}

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
