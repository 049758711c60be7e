package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// replicas measures one, ten and a hundred replicas on one server: what they hold and use while nothing happens, and how soon single runs
// start while all of them listen.
func (b *bench) replicas(ctx context.Context) error {
	s, err := b.startServer(ctx, map[string]string{"max_connections": "1500"})
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	for _, n := range []int{1, 10, b.scale(30, 100)} {
		d, err := b.newDatabase(ctx, s, fmt.Sprintf("replicas_%d", n), true)
		if err != nil {
			return err
		}
		err = b.crowd(ctx, s, d, n)
		d.close()
		if err != nil {
			return fmt.Errorf("%d replicas: %w", n, err)
		}
	}
	return nil
}

// crowd measures n replicas.
func (b *bench) crowd(ctx context.Context, s *server, d *database, n int) (err error) {
	begun := time.Now()
	all, err := b.together(ctx, d.url, n)
	defer func() {
		if err == nil {
			err = stopAll(all)
			return
		}
		for _, r := range all {
			r.kill()
		}
	}()
	if err != nil {
		return err
	}
	ready := time.Since(begun)
	if err := wait(ctx, lag); err != nil {
		return err
	}
	window := time.Duration(b.scale(20, 60)) * time.Second
	used, own, err := cpuDuring(s, all, func() error { return wait(ctx, window) })
	if err != nil {
		return err
	}
	held, err := d.numbers(ctx, "SELECT count(*)::float8 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	if err != nil {
		return err
	}
	var resident float64
	for _, r := range all {
		now, _, err := measure.Memory(r.pid())
		if err != nil {
			return err
		}
		resident += now
	}
	var waits []float64
	const rate = 20
	runs := rate * b.scale(5, 15)
	served, ours, err := cpuDuring(s, all, func() (err error) {
		waits, err = d.startDelays(ctx, rate, runs)
		return err
	})
	if err != nil {
		return err
	}
	each := 1e6 / float64(rate+runs) // the first second warms up
	b.table.row(fmt.Sprintf("%d replicas, all ready after", n), ready.Round(10*time.Millisecond).String(), "")
	b.table.row("  idle for "+window.String(), fmt.Sprintf("server %.2f %% of a core; a replica %.3f %% of a core, %.1f MiB resident", used/window.Seconds()*100, own/window.Seconds()/float64(n)*100,
		resident/float64(n)), "server ≤ 5 % with 100")
	b.table.row("  connections", fmt.Sprintf("%.0f", held[0]), "")
	b.table.row("  insert → start, 20/s", fmt.Sprintf("%s; CPU a run: server %.0f µs, all replicas %.0f µs", spread(waits, 50, 95, 99), served*each, ours*each), "")
	return nil
}

// together starts n replicas at once, with default flags.
func (b *bench) together(ctx context.Context, url string, n int) (all []*replica, err error) {
	started, failed := make([]*replica, n), make([]error, n)
	var starting sync.WaitGroup
	for i := range n {
		starting.Go(func() { started[i], failed[i] = b.serve(ctx, url) })
	}
	starting.Wait()
	for _, r := range started {
		if r != nil {
			all = append(all, r)
		}
	}
	return all, errors.Join(failed...)
}

func stopAll(all []*replica) error {
	failed := make([]error, len(all))
	var stopping sync.WaitGroup
	for i, r := range all {
		stopping.Go(func() { failed[i] = r.stop() })
	}
	stopping.Wait()
	return errors.Join(failed...)
}

// cpuDuring is what the server and all replicas used of the CPU meanwhile, in seconds.
func cpuDuring(s *server, all []*replica, do func() error) (served, ours float64, err error) {
	add := func(sign float64) error {
		for _, r := range all {
			one, err := measure.CPUSeconds(r.pid())
			if err != nil {
				return err
			}
			ours += sign * one
		}
		one, err := measure.ServerSeconds(s.PID())
		served += sign * one
		return err
	}
	if err := add(-1); err != nil {
		return 0, 0, err
	}
	if err := do(); err != nil {
		return 0, 0, err
	}
	return served, ours, add(1)
}
