package migrations

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"
)

// lockOutWriters locks the tables that are written most, in the order in which applications fill them, until the end of the
// transaction: no statement that writes there is half way through functions that are dropped and made again.
// Passes come first: one that goes on would wait for a table while it holds another. All of them together are waited for as long
// as one lock elsewhere, because who writes the first of the tables waits for all.
func (a *application) lockOutWriters(ctx context.Context) error {
	var passes bool
	var tables []string
	if err := a.tx.QueryRow(ctx, `SELECT pg_catalog.to_regclass('rowrun.promotion_lock') IS NOT NULL, array(
		SELECT name FROM unnest('{plan,task,task_dependency,task_run}'::text[]) WITH ORDINALITY t(name, n)
		WHERE pg_catalog.to_regclass('rowrun.' || name) IS NOT NULL ORDER BY n)`).Scan(&passes, &tables); err != nil {
		return err
	}
	if passes {
		if _, err := a.tx.Exec(ctx, "SELECT FROM rowrun.promotion_lock WHERE id = 1 FOR UPDATE"); err != nil {
			return err
		}
	}
	began := time.Now()
	for _, table := range tables {
		left := max(codeLockTimeout-time.Since(began), time.Millisecond)
		if err := a.send(ctx, "SET LOCAL lock_timeout = "+milliseconds(left), "LOCK TABLE rowrun."+table+" IN SHARE ROW EXCLUSIVE MODE"); err != nil {
			return err
		}
	}
	return nil
}

// swap makes the code of the files the schema's. Writers wait meanwhile, so nothing waits for an answer: all of it is one message. Where
// that fails it goes statement by statement: what CREATE OR REPLACE can't make is found there and dropped, with what depends on it, and an
// error names the file.
func (a *application) swap(ctx context.Context) error {
	todo, made, removed := maps.Clone(a.todo), a.made, a.removed
	// By itself, as a message that can't be parsed does nothing at all.
	if err := a.send(ctx, "SET LOCAL lock_timeout = "+milliseconds(codeLockTimeout), "SAVEPOINT swap"); err != nil {
		return err
	}
	a.queue = []string{}
	err := a.change(ctx)
	together := a.queue
	a.queue = nil
	if err != nil {
		return err
	}
	err = a.send(ctx, append(together, "RELEASE SAVEPOINT swap")...)
	if code(err) == "" || is(err, "55P03", "40P01", "57014") {
		return err
	}
	if err := a.exec(ctx, "ROLLBACK TO SAVEPOINT swap"); err != nil {
		return err
	}
	a.todo, a.made, a.removed = todo, made, removed
	return a.change(ctx)
}

// change removes, renames and makes, and writes down what the schema has then.
func (a *application) change(ctx context.Context) error {
	for _, key := range a.gone {
		if err := a.drop(ctx, key); err != nil {
			return err
		}
	}
	if err := a.rename(ctx); err != nil {
		return err
	}
	for _, o := range a.want.objects {
		// What was made anew has the rights of new objects.
		if a.todo[o.key()] || o.kind == kindGrants && a.made+a.removed > 0 {
			if err := a.make(ctx, o); err != nil {
				return err
			}
			a.made++
		}
	}
	for _, key := range a.gone {
		if err := a.exec(ctx, "DELETE FROM rowrun.code_object WHERE object = "+literal(key)); err != nil {
			return err
		}
	}
	for _, key := range a.retired {
		if err := a.exec(ctx, fmt.Sprintf("UPDATE rowrun.code_object SET retired_in = %d WHERE object = %s", a.want.release, literal(key))); err != nil {
			return err
		}
	}
	return a.send(ctx, a.want.records())
}

// exec runs statements, or has them wait for the others.
func (a *application) exec(ctx context.Context, statements ...string) error {
	if a.queue != nil {
		a.queue = append(a.queue, statements...)
		return nil
	}
	return do(ctx, a.tx, statements...)
}

// send runs statements as one message.
func (a *application) send(ctx context.Context, statements ...string) error {
	if a.queue != nil {
		a.queue = append(a.queue, statements...)
		return nil
	}
	_, err := a.tx.Conn().PgConn().Exec(ctx, strings.Join(statements, "\n;\n")).ReadAll()
	return err
}
