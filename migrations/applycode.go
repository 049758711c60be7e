package migrations

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// codeLockTimeout bounds each wait for a lock while code is applied: who makes a trigger locks the table against writers,
// and whoever comes after waits as long as that waits.
const codeLockTimeout = lockTimeout

// recordedObject is one that the database has recorded.
type recordedObject struct {
	hash    string
	retired int // in which release it went from the files; 0: it is in use
}

// Code tells which functions, triggers, views and grants a schema has.
type Code struct {
	Release int    // as the manifest counts them; 0: none
	Hash    string // of the source of all; empty: none
	At      time.Time
}

// readCodeVersion reads which code was applied last; the tables for that are the baseline's.
func readCodeVersion(ctx context.Context, tx pgx.Tx) (c Code, err error) {
	var exists bool
	if err := tx.QueryRow(ctx, "SELECT pg_catalog.to_regclass('rowrun.code_version') IS NOT NULL").Scan(&exists); err != nil || !exists {
		return c, err
	}
	rows, err := tx.Query(ctx, "SELECT release, hash, applied_at FROM rowrun.code_version")
	if err != nil {
		return c, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Code])
	if len(list) > 0 {
		c = list[0]
	}
	return c, err
}

func readObjects(ctx context.Context, tx pgx.Tx) (map[string]recordedObject, error) {
	rows, err := tx.Query(ctx, "SELECT object, hash, coalesce(retired_in, 0) FROM rowrun.code_object")
	if err != nil {
		return nil, err
	}
	objects := map[string]recordedObject{}
	var key string
	var o recordedObject
	_, err = pgx.ForEachRow(rows, []any{&key, &o.hash, &o.retired}, func() error {
		objects[key] = o
		return nil
	})
	return objects, err
}

// codeVersion reads it outside of a transaction of the caller's.
func (s *session) codeVersion(ctx context.Context) (c Code, err error) {
	err = pgx.BeginTxFunc(ctx, s.conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		c, err = readCodeVersion(ctx, tx)
		return err
	})
	if err != nil {
		return c, fmt.Errorf("read rowrun.code_version: %w", err)
	}
	return c, nil
}

// needCode refuses a schema whose code isn't this program's.
func (s *session) needCode(ctx context.Context) error {
	has, err := s.codeVersion(ctx)
	switch {
	case err != nil:
		return err
	case has.Release > s.files.code.releaseNumber():
		return fmt.Errorf("the schema's code is of release %d, this program's of %d: use the program that migrated it", has.Release, s.files.code.releaseNumber())
	case has.Hash != s.files.code.hash():
		return fmt.Errorf("the schema's code is another than this program's: run `rowrun migrate up` first")
	}
	return nil
}

// applyCode brings the code of the schema to that of the files, in one transaction. Code of a newer release is left alone.
func (s *session) applyCode(ctx context.Context) error {
	want := s.files.code
	if want == nil {
		return nil
	}
	has, err := s.codeVersion(ctx)
	if err != nil {
		return err
	}
	if has.Release > want.release {
		s.log.Warn().Int("release", has.Release).Int("known", want.release).Msg("the schema's code is newer than this binary, left as it is")
		return nil
	}
	if has.Release == want.release && has.Hash == want.hash() {
		return nil
	}
	began := time.Now()
	if err := s.makeRoles(ctx); err != nil {
		return err
	}
	var a *application
	err = s.patiently(ctx, func() error {
		return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = "+milliseconds(codeLockTimeout)); err != nil {
				return err
			}
			a = &application{tx: tx, want: want, todo: map[string]bool{}, along: map[string][]dependant{}, drops: map[string]bool{}}
			return a.run(ctx)
		})
		// A role's row came in between, or was changed ("tuple concurrently updated").
	}, "23505", "42710", "XX000")
	if err != nil {
		return fmt.Errorf("apply the code: %w", err)
	}
	s.log.Info().Int("release", want.release).Str("hash", want.hash()).Int("made", a.made).Int("removed", a.removed).Int("retired", len(a.retired)).
		Float64("took_ms", float64(time.Since(began).Microseconds())/1000).Msg("code applied")
	return nil
}

// application is one try to bring the code of the schema to that of the files.
type application struct {
	tx      pgx.Tx
	want    *codeFiles
	has     map[string]recordedObject
	todo    map[string]bool // keys of what is made
	gone    []string        // keys of what is removed
	renamed []string        // keys of functions that have other arguments in the files
	along   map[string][]dependant
	drops   map[string]bool // keys of what CREATE OR REPLACE can't make, as far as that is known
	retired []string        // keys of what has gone from the files since the last time
	made    int
	removed int
	queue   []string // statements that are to be sent together; nil: each is sent at once
}

func (a *application) run(ctx context.Context) (err error) {
	if a.has, err = readObjects(ctx, a.tx); err != nil {
		return err
	}
	for _, o := range a.want.objects {
		if a.has[o.key()].hash != o.hash {
			a.todo[o.key()] = true
		}
	}
	a.sort()
	if len(a.todo)+len(a.gone)+len(a.renamed) > 0 {
		if err := a.prepare(ctx); err != nil {
			return err
		}
		if err := a.lockOutWriters(ctx); err != nil {
			return err
		}
	}
	return a.swap(ctx)
}

// prepare does what needs no lock, so that writers wait for the rest alone: it makes functions, which nobody sees before the
// commit, and then looks up what goes along with objects that are dropped. A function that can't be made yet, as an old
// one stands in the way or the body needs an object that isn't made yet, is made in its place of the manifest.
func (a *application) prepare(ctx context.Context) error {
	dropped := slices.Concat(a.gone, a.renamed)
	standing := map[string]bool{}
	for _, key := range a.renamed {
		standing[family(key)] = true
	}
	for _, o := range a.want.of(kindFunction) {
		if !a.todo[o.key()] || standing[family(o.key())] {
			continue
		}
		err := pgx.BeginFunc(ctx, a.tx, func(tx pgx.Tx) error { return do(ctx, tx, o.texts()...) })
		switch {
		case err == nil:
			delete(a.todo, o.key())
			a.made++
		case needsDrop(err):
			a.drops[o.key()] = true
			dropped = append(dropped, o.key())
		case !strings.HasPrefix(code(err), "42"):
			return err
		}
	}
	for _, key := range dropped {
		if err := a.lookUp(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// sort finds what is no more in the files: what is removed, what is renamed, and what is only retired.
func (a *application) sort() {
	kept, families := map[string]bool{}, map[string]bool{}
	for _, o := range a.want.objects {
		kept[o.key()] = true
		families[family(o.key())] = true
	}
	for key, o := range a.has {
		kind, _, _ := strings.Cut(key, " ")
		switch {
		case kept[key]:
		case kind == kindTrigger, kind == kindGrants, kind == kindRoles, o.retired > 0 && o.retired < a.want.release:
			a.gone = append(a.gone, key)
		case families[family(key)]:
			a.renamed = append(a.renamed, key)
		case o.retired == 0:
			a.retired = append(a.retired, key)
		}
	}
}

// make makes an object as its file says. What can't be replaced is dropped before, with what depends on it.
func (a *application) make(ctx context.Context, o *source) error {
	statements := o.texts()
	var err error
	switch {
	case o.kind == kindPublication:
		statements, err = a.publication(ctx, o)
	case o.kind == kindTrigger && !o.replace:
		err = a.exec(ctx, "DROP TRIGGER IF EXISTS "+o.name)
	case a.drops[o.key()]:
		if err = a.drop(ctx, o.key()); err == nil {
			err = a.exec(ctx, o.make)
		}
		statements = o.rest
	case o.replace && a.queue == nil:
		err = pgx.BeginFunc(ctx, a.tx, func(tx pgx.Tx) error { return do(ctx, tx, o.make) })
		if needsDrop(err) {
			if err = a.drop(ctx, o.key()); err == nil {
				err = a.exec(ctx, o.make)
			}
		}
		statements = o.rest
	}
	if err == nil {
		err = a.exec(ctx, statements...)
	}
	if err != nil {
		return fmt.Errorf("code/%s:%d: %s: %w", o.path, o.line, o.key(), err)
	}
	return nil
}

// publication changes the one that is there, which whoever reads the log may be using.
func (a *application) publication(ctx context.Context, o *source) ([]string, error) {
	var exists bool
	if err := a.tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_publication WHERE pubname = $1)", o.name).Scan(&exists); err != nil || !exists {
		return o.texts(), err
	}
	_, body, _ := strings.Cut(o.make, "FOR ")
	tables, options, _ := strings.Cut(body, "WITH ")
	return append([]string{"ALTER PUBLICATION " + o.name + " SET " + tables, "ALTER PUBLICATION " + o.name + " SET " + options}, o.rest...), nil
}

// drop removes an object, and what of the code depends on it, which is made again. What others have built on it stays, and
// so does the object: that is an error that names it.
func (a *application) drop(ctx context.Context, key string) error {
	kind, name, _ := strings.Cut(key, " ")
	if kind == kindGrants || kind == kindRoles {
		return nil // others say what may be done now
	}
	if err := a.lookUp(ctx, key); err != nil {
		return err
	}
	for _, d := range a.along[key] {
		if d.Key == "" {
			return fmt.Errorf("%s depends on %s, which has to be made anew: drop it, run `rowrun migrate up`, and make it again", d.Description, key)
		}
		a.todo[d.Key] = true
		a.removed++
	}
	a.removed++
	return a.exec(ctx, "DROP "+kind+" IF EXISTS "+name+" CASCADE")
}

// rename gives the functions of a.renamed the names of retired ones. What of the code uses them is made again, on those of
// the files; what others have built on them stays on them.
func (a *application) rename(ctx context.Context) error {
	for _, key := range a.renamed {
		for _, d := range a.along[key] {
			if d.Key != "" {
				a.todo[d.Key] = true
			}
		}
	}
	if len(a.renamed) == 0 {
		return nil
	}
	return a.exec(ctx, a.want.renaming())
}

// makeRoles makes the roles that are missing: they are the server's, and a dump that was restored on another has brought
// none along.
func (s *session) makeRoles(ctx context.Context) error {
	for _, o := range s.files.code.of(kindRoles) {
		err := s.patiently(ctx, func() error {
			return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error { return do(ctx, tx, o.rest...) })
		})
		if err != nil {
			return fmt.Errorf("roles: %w", err)
		}
	}
	return nil
}
