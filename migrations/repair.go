package migrations

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Repair makes functions, views, triggers, constraints, indexes, the publication and the grants of the schema again
// where they are missing or not as the migrations make them, and returns these. Tables and their data stay as they
// are. Everything but indexes is one transaction; these are built without blocking who writes.
func Repair(ctx context.Context, config Config) (repaired []Difference, err error) {
	err = locked(ctx, config, "migrate repair", func(ctx context.Context, s *session) error {
		current, err := s.settle(ctx)
		if err != nil {
			return err
		}
		if latest := s.files.latest(); current != latest {
			return fmt.Errorf("the schema is at version %d, this program's is %d: run `rowrun migrate up`, or use the program that migrated it", current, latest)
		}
		if err := s.verify(ctx); err != nil {
			return err
		}
		if err := s.needCode(ctx); err != nil {
			return err
		}
		repaired, err = s.repair(ctx)
		return err
	})
	return repaired, err
}

func (s *session) repair(ctx context.Context) ([]Difference, error) {
	// Grants that a lost object would make fail come with the repair.
	if err := s.makeRoles(ctx); err != nil {
		return nil, err
	}
	want, err := s.reference(ctx)
	if err != nil {
		return nil, err
	}
	var repaired []Difference
	err = s.patiently(ctx, func() error {
		repaired = nil
		return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL check_function_bodies = off"); err != nil {
				return err
			}
			for _, grants := range []bool{false, true} { // what is made anew has grants as new objects have
				found, err := catalog(ctx, tx)
				if err != nil {
					return err
				}
				for _, w := range wrong(want, found) {
					if w.Kind == "index" || (w.Kind == "grants") != grants {
						continue
					}
					if err := remake(ctx, tx, w.object, w.How); err != nil {
						return fmt.Errorf("%s %s: %w", w.Kind, w.Name, err)
					}
					repaired = append(repaired, w.difference())
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	found, err := s.actual(ctx)
	if err != nil {
		return repaired, err
	}
	for _, w := range wrong(want, found) {
		if w.Kind != "index" {
			continue
		}
		if err := s.rebuild(ctx, w); err != nil {
			return repaired, fmt.Errorf("index %s: %w", w.Name, err)
		}
		repaired = append(repaired, w.difference())
	}
	return repaired, s.writeObjects(ctx, want)
}

// regrant repeats what single migrations have granted beside the repeatable file.
func (s *session) regrant(ctx context.Context) error {
	if has, _, err := s.recordsObjects(ctx); err != nil || !has {
		return err
	}
	want, err := s.reference(ctx)
	if err != nil {
		return err
	}
	return s.patiently(ctx, func() error {
		return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
			found, err := catalog(ctx, tx)
			if err != nil {
				return err
			}
			for _, w := range wrong(want, found) {
				if w.Kind != "grants" {
					continue
				}
				if err := remake(ctx, tx, w.object, w.How); err != nil {
					return fmt.Errorf("grants of %s: %w", w.Name, err)
				}
			}
			return nil
		})
	}, "XX000")
}

// fault is an object as it should be, and how it isn't.
type fault struct {
	object
	How string
}

func (f *fault) difference() Difference { return Difference{Kind: f.Kind, Name: f.Name, How: f.How} }

// wrong are the differences with the objects that they are about, in the order in which objects are made.
func wrong(want, found []object) []fault {
	byKey := map[string]object{}
	for _, o := range want {
		byKey[o.key()] = o
	}
	var faults []fault
	for _, d := range compare(want, found) {
		if d.How != "foreign" {
			faults = append(faults, fault{byKey[d.Kind+" "+d.Name], d.How})
		}
	}
	return faults
}

// remake makes one object as it should be.
func remake(ctx context.Context, tx pgx.Tx, o object, how string) error {
	name, table, _ := strings.Cut(o.Name, " ON ")
	switch o.Kind {
	case "function", "view":
		err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return do(ctx, tx, o.Statement) })
		if !is(err, "42P13", "42P16", "42809") { // another result, other columns, another kind
			return err
		}
		return do(ctx, tx, "DROP "+o.Kind+" "+o.Name, o.Statement)
	case "trigger":
		return do(ctx, tx, "DROP TRIGGER IF EXISTS "+name+" ON "+table, o.Statement)
	case "constraint":
		return do(ctx, tx, "ALTER TABLE "+table+" DROP CONSTRAINT IF EXISTS "+name, o.Statement)
	case "publication":
		tables, options, _ := strings.Cut(strings.TrimPrefix(o.Statement, "FOR "), " WITH ")
		if how == "missing" {
			// One without tables is none.
			return do(ctx, tx, "DROP PUBLICATION IF EXISTS "+o.Name, "CREATE PUBLICATION "+o.Name+" "+o.Statement)
		}
		return do(ctx, tx, "ALTER PUBLICATION "+o.Name+" SET "+tables, "ALTER PUBLICATION "+o.Name+" SET "+options)
	case "grants":
		return do(ctx, tx, rights(o)...)
	}
	return fmt.Errorf("no way to repair a %s", o.Kind)
}

// rights takes everything from Rowrun's roles and PUBLIC, and gives them what they should have.
func rights(o object) []string {
	const everybody = "PUBLIC, rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer, rowrun_replica, rowrun_worker"
	statements := []string{"REVOKE ALL ON " + o.Name + " FROM " + everybody} // takes the rights on columns along
	for right := range strings.SplitSeq(o.Statement, ", ") {
		if role, privilege, ok := strings.Cut(right, "="); ok {
			statements = append(statements, "GRANT "+privilege+" ON "+o.Name+" TO "+role)
		}
	}
	return statements
}

func do(ctx context.Context, tx pgx.Tx, statements ...string) error {
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// rebuild builds one index beside those who write. It waits for transactions that are open, for as long as they are.
func (s *session) rebuild(ctx context.Context, f fault) error {
	statement := strings.Replace(f.Statement, " INDEX ", " INDEX CONCURRENTLY ", 1)
	for _, sql := range []string{"SET lock_timeout = 0", "DROP INDEX CONCURRENTLY IF EXISTS " + f.Name, statement, "SET lock_timeout = " + milliseconds(lockTimeout)} {
		if _, err := s.conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
