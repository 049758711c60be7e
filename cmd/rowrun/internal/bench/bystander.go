package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// accounts is how many rows each writer of the application has to itself.
const accounts = 100

// bystander has writers commit as an application would, one row changed and one inserted, while there is no replica, one
// that is idle, and one that works at the steady rate, in turn.
func (b *Bench) bystander(ctx context.Context) ([]*Case, error) {
	tables := "CREATE TABLE " + b.name + ".account (id int PRIMARY KEY, balance bigint NOT NULL) WITH (fillfactor = 50); " +
		"CREATE TABLE " + b.name + ".history (account_id int NOT NULL, delta int NOT NULL, at timestamptz NOT NULL DEFAULT now()); " +
		fmt.Sprintf("INSERT INTO %s.account SELECT i, 0 FROM generate_series(1, %d) i", b.name, accounts*b.cfg.Writers)
	if err := b.exec(ctx, tables); err != nil {
		return nil, fmt.Errorf("make the application's tables: %w", err)
	}
	none, idle, working := &Case{Name: "no replica"}, &Case{Name: "an idle replica"}, &Case{Name: fmt.Sprintf("a replica at %d runs/s", b.cfg.Rate)}
	cases := []*Case{none, idle, working}
	for range b.cfg.Rounds {
		for _, c := range cases {
			if err := b.bystanderOnce(ctx, c, c != none, c == working); err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if err := b.clear(ctx); err != nil {
				return nil, err
			}
		}
	}
	idle.compare("of_none", "commits", none)
	working.compare("of_none", "commits", none)
	return cases, b.exec(ctx, "DROP TABLE "+b.name+".account, "+b.name+".history")
}

func (b *Bench) bystanderOnce(ctx context.Context, c *Case, serving, feeding bool) (err error) {
	if err := b.exec(ctx, "TRUNCATE "+b.name+".history"); err != nil {
		return err
	}
	if serving {
		_, stop, started := b.serveSome(ctx, 1)
		if started != nil {
			return started
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	return b.beside(ctx, c, feeding)
}

// beside measures the application, with runs inserted meanwhile where feeding is true.
func (b *Bench) beside(ctx context.Context, c *Case, feeding bool) error {
	f, err := b.fill(ctx, plain, 0)
	if err != nil {
		return err
	}
	stop, fed, begun := make(chan struct{}), make(chan error, 1), make(chan struct{})
	if feeding {
		go func() {
			var err error
			f.runs, _, err = b.feed(ctx, stop, b.cfg.Rate*int(b.cfg.Duration.Seconds()+60), func() { close(begun) })
			fed <- err
		}()
		select {
		case <-begun:
		case err := <-fed:
			return fmt.Errorf("no run was inserted: %w", err)
		}
	} else {
		fed <- nil
	}
	latencies, seconds, err := b.apply(ctx)
	close(stop)
	if err = errors.Join(err, <-fed); err != nil {
		return err
	}
	if feeding {
		if _, err := b.ended(ctx, f, 0); err != nil {
			return err
		}
		c.Runs += f.runs
	}
	c.add("commits", "/s", float64(len(latencies))/seconds)
	c.spread("commit", latencies)
	return nil
}

// apply is the application: how long each of its transactions took, in ms.
func (b *Bench) apply(ctx context.Context) (latencies []float64, seconds float64, err error) {
	each := make([][]float64, b.cfg.Writers)
	seconds, err = b.write(ctx, func(conn *pgxpool.Conn, writer, n int) error {
		at := time.Now()
		if err := b.pay(ctx, conn, writer*accounts+n%accounts+1); err != nil {
			return err
		}
		each[writer] = append(each[writer], milliseconds(at))
		return nil
	})
	for _, some := range each {
		latencies = append(latencies, some...)
	}
	return latencies, seconds, err
}

// pay is one transaction of the application.
func (b *Bench) pay(ctx context.Context, conn *pgxpool.Conn, account int) error {
	ctx, cancel := context.WithTimeout(ctx, manners)
	defer cancel()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "-- bench_change\nUPDATE "+b.name+".account SET balance = balance + 1 WHERE id = $1", account)
	if err == nil {
		_, err = tx.Exec(ctx, "-- bench_history\nINSERT INTO "+b.name+".history (account_id, delta) VALUES ($1, 1)", account)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback(ctx))
	}
	return tx.Commit(ctx)
}
