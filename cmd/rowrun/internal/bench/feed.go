package bench

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// inserters is how many connections a steady rate needs.
func (b *Bench) inserters() int { return min(1+b.cfg.Rate/200, 64) }

// feed inserts single runs at the steady rate, as psql would: each one simple query and its own transaction. It
// returns how many there were and how long it took, in seconds. Stopping is an end, not an error. begun is called with the first.
func (b *Bench) feed(ctx context.Context, stop <-chan struct{}, most int, begun func()) (inserted int, seconds float64, err error) {
	insert := "INSERT INTO rowrun.task_run (task_id) VALUES (" + strconv.FormatInt(b.task, 10) + ")"
	n := b.inserters()
	counts := make([]int, n)
	var group errgroup.Group
	began := time.Now()
	var first sync.Once
	for i := range n {
		group.Go(func() error {
			conn, err := b.pool.Acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			tick := time.NewTicker(time.Second * time.Duration(n) / time.Duration(b.cfg.Rate))
			defer tick.Stop()
			for range share(most, n, i) {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-stop:
					return nil
				case <-tick.C:
				}
				if err := b.insertOne(ctx, conn.Conn(), insert); err != nil {
					return err
				}
				counts[i]++
				first.Do(begun)
			}
			return nil
		})
	}
	err = group.Wait()
	for _, count := range counts {
		inserted += count
	}
	return inserted, time.Since(began).Seconds(), err
}

func (b *Bench) insertOne(ctx context.Context, conn *pgx.Conn, insert string) error {
	ctx, cancel := context.WithTimeout(ctx, manners)
	defer cancel()
	_, err := conn.Exec(ctx, insert, pgx.QueryExecModeSimpleProtocol)
	return err
}

// share is the part of the i-th of n in a total.
func share(total, n, i int) int { return total*(i+1)/n - total*i/n }
