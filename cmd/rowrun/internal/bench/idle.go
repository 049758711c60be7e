package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// lag is how late, at most, a session of the server tells what transactions it had.
const lag = 11 * time.Second

// idle watches one replica with nothing to do, for five times --duration: after its start, and after it has worked.
func (b *Bench) idle(ctx context.Context) (_ []*Case, err error) {
	fresh, worked := &Case{Name: "since its start"}, &Case{Name: fmt.Sprintf("after %d runs", b.cfg.Runs)}
	r, err := b.serve(ctx, b.cfg.Concurrency)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = errors.Join(err, r.stop()); err == nil {
			err = b.clear(ctx)
		}
	}()
	if _, err := b.awake(ctx, r, "notify", "wal"); err != nil {
		return nil, err
	}
	if err := b.watch(ctx, fresh, r); err != nil {
		return nil, err
	}
	f, err := b.fill(ctx, plain, b.cfg.Runs)
	if err != nil {
		return nil, err
	}
	if _, err := b.ended(ctx, f, 0); err != nil {
		return nil, err
	}
	worked.Runs = f.runs
	if err := b.watch(ctx, worked, r); err != nil {
		return nil, err
	}
	if b.statements == "" {
		b.note("transactions are those of the whole database; statements need pg_stat_statements")
	}
	return []*Case{fresh, worked}, nil
}

func (b *Bench) watch(ctx context.Context, c *Case, r *replica) error {
	// The first moments are still busy with the start, or with what has just ended.
	settle := b.cfg.Duration
	if b.statements == "" {
		settle = max(settle, min(lag, 8*settle))
	}
	if err := wait(ctx, settle); err != nil {
		return err
	}
	const transactions = `-- bench_transactions
SELECT (xact_commit + xact_rollback)::float8, extract(epoch FROM clock_timestamp())::float8 FROM pg_catalog.pg_stat_database WHERE datname = current_database()`
	var was, is, begun, over float64
	if err := b.ask(ctx, transactions, nil, &was, &begun); err != nil {
		return fmt.Errorf("count transactions: %w", err)
	}
	before, err := b.used(ctx, r)
	if err != nil {
		return err
	}
	if err := wait(ctx, 5*b.cfg.Duration); err != nil {
		return err
	}
	after, err := b.used(ctx, r)
	if err != nil {
		return err
	}
	if err := b.ask(ctx, transactions, nil, &is, &over); err != nil {
		return fmt.Errorf("count transactions: %w", err)
	}
	seconds := over - begun
	if b.statements != "" {
		c.add("statements", "/s", max(0, after.calls-before.calls)/seconds)
	} else {
		c.add("transactions", "/s", max(0, is-was)/seconds)
	}
	if before.cpuKnown && after.cpuKnown {
		c.add("cpu", "%", 100*(after.cpu-before.cpu)/seconds)
	}
	if now, peak, err := measure.Memory(r.pid()); err == nil {
		c.add("memory", "MiB", now)
		c.add("memory_peak", "MiB", peak)
	}
	return nil
}
