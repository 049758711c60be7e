package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// station is what runs go through one at a time, or as many at a time as there are cores.
type station struct {
	name string
	// each run holds it for so many µs.
	demand float64
}

// demands are what a run asks of each station. By the utilization law and the asymptotic bounds of a closed system (Denning and Buzen, "The
// Operational Analysis of Queueing Network Models", 1978) no more than cores / cpu runs end in a time, and no more than 1 / demand of what
// serves one at a time.
type demands struct {
	rate   float64   // that was measured, in runs/s
	cpu    float64   // of all processes, in µs a run
	insert float64   // of the server for the INSERT, in µs a run
	serial []station // the same ones in each round, in the same order
}

// bound is the most runs/s with so many cores, and what is used up first.
func (d demands) bound(cores int) (rate float64, by string) {
	rate, by = float64(cores)*1e6/d.cpu, "CPU"
	for _, s := range d.serial {
		if s.demand > 0 && 1e6/s.demand < rate {
			rate, by = 1e6/s.demand, s.name
		}
	}
	return rate, by
}

// median is one that has the medians of several rounds, what is held longest first.
func median(rounds []demands) (m demands) {
	of := func(value func(demands) float64) float64 {
		values := make([]float64, 0, len(rounds))
		for _, d := range rounds {
			values = append(values, value(d))
		}
		return measure.Median(values)
	}
	m.rate, m.cpu = of(func(d demands) float64 { return d.rate }), of(func(d demands) float64 { return d.cpu })
	m.insert = of(func(d demands) float64 { return d.insert })
	for i, s := range rounds[0].serial {
		m.serial = append(m.serial, station{s.name, of(func(d demands) float64 { return d.serial[i].demand })})
	}
	slices.SortFunc(m.serial, func(a, b station) int { return cmp.Compare(b.demand, a.demand) })
	return m
}

// cores measures what runs ask of the machine with everything on one core and on two, holds what each predicts of the other against what
// was measured, and says from that how far more cores would take one database, and what is used up first.
func (b *bench) cores(ctx context.Context) error {
	works := []struct{ name, statements string }{
		{"runs without gates", noopRuns},
		{"100 versions on each database", versionsOf(b.scale(300, 1000))},
		{"10 plans with limit 20", limitedPlans(10)},
	}
	for _, work := range works {
		by := map[int][]demands{}
		for range b.scale(1, 3) {
			for _, cores := range []int{1, 2} {
				d, err := b.demandsOn(ctx, cores, work.statements)
				if err != nil {
					return fmt.Errorf("%s on %d cores: %w", work.name, cores, err)
				}
				by[cores] = append(by[cores], d)
			}
		}
		b.table.row(work.name, "", "")
		b.predict(median(by[1]), median(by[2]))
	}
	return nil
}

// predict shows what was measured on one core and on two, what each makes of the other, and what both make of more.
func (b *bench) predict(one, two demands) {
	for i, d := range []demands{one, two} {
		parts := make([]string, 0, len(d.serial))
		for _, s := range d.serial {
			parts = append(parts, fmt.Sprintf("%s %.1f", s.name, s.demand))
		}
		rate, by := []demands{two, one}[i].bound(i + 1)
		b.table.row(fmt.Sprintf("  on %d: runs/s", i+1), fmt.Sprintf("%.0f; from the other: at most %.0f (%s), %.2f ×", d.rate, rate, by, d.rate/rate), "")
		b.table.row("    µs a run", fmt.Sprintf("CPU %.0f; one at a time: %s", d.cpu, strings.Join(parts, ", ")), "")
	}
	for _, cores := range []int{4, 16, 64} {
		rate, by := two.bound(cores)
		b.table.row(fmt.Sprintf("  on %d, not measured", cores), fmt.Sprintf("at most %.0f runs/s: %s", rate, by), "")
	}
}

// demandsOn drains with so many cores: one replica that writes no stream, and one that only looks after the deployment and writes it.
func (b *bench) demandsOn(ctx context.Context, cores int, statements string) (got demands, err error) {
	s, err := b.startServer(ctx, map[string]string{"track_wal_io_timing": "on"})
	if err != nil {
		return got, err
	}
	defer func() { _ = s.stop() }()
	d, err := b.newDatabase(ctx, s, "cores", true)
	if err != nil {
		return got, err
	}
	defer d.close()
	probe, err := s.connect(ctx, d)
	if err != nil {
		return got, err
	}
	defer probe.close()
	jobs := 100 * b.scale(300, 1000)
	inserting, err := measure.ServerSeconds(s.PID())
	if err != nil {
		return got, err
	}
	if err := d.fill(ctx, statements, jobs); err != nil {
		return got, err
	}
	inserted, err := measure.ServerSeconds(s.PID())
	if err != nil {
		return got, err
	}
	if err := d.do(ctx, "VACUUM ANALYZE rowrun.task_run, rowrun.task", "CHECKPOINT"); err != nil {
		return got, err
	}
	writer, err := b.serve(ctx, d.url, "--role", "admin")
	if err != nil {
		return got, err
	}
	defer writer.kill()
	if err := measure.Pin(cores, s.PID(), writer.pid()); err != nil {
		return got, writer.blame(err)
	}
	before, err := readDemands(ctx, s, d, writer)
	if err != nil {
		return got, err
	}
	worker, err := b.launch(d.url, nil, "--concurrency", strconv.Itoa(riverWorkers), "--stream-source", "off")
	if err != nil {
		return got, err
	}
	defer worker.kill()
	if err := measure.Pin(cores, worker.pid()); err != nil {
		return got, worker.blame(err)
	}
	watched, stop := context.WithCancel(ctx)
	defer stop()
	held := make(chan locksHeld, 1)
	go func() { held <- watchLocks(watched, probe) }()
	if _, err := d.drained(ctx); err != nil {
		return got, worker.blame(err)
	}
	stop()
	locks := <-held
	after, err := readDemands(ctx, s, d, writer, worker)
	if err != nil {
		return got, worker.blame(err)
	}
	took, err := d.numbers(ctx, "SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 FROM rowrun.task_run")
	if err != nil {
		return got, err
	}
	each := 1e6 / float64(jobs)
	got = demands{rate: float64(jobs) / took[0], cpu: (after.cpu - before.cpu) * each, insert: (inserted - inserting) * each}
	got.serial = []station{
		{"promotion's lock", locks.promotion * took[0] * each},
		{"notifications' lock", locks.notify * took[0] * each},
		{"flush of the log", (after.flush - before.flush) * each},
		{"decoder of the log", (after.decoder - before.decoder) * each},
		{"writer of the stream", (after.writer - before.writer) * each},
	}
	return got, nil
}

// reading is what was used so far, in seconds.
type reading struct {
	cpu, flush, decoder, writer float64
}

func readDemands(ctx context.Context, s *server, d *database, writer *replica, others ...*replica) (r reading, err error) {
	if r.cpu, err = measure.ServerSeconds(s.PID()); err != nil {
		return r, err
	}
	for i, process := range append([]*replica{writer}, others...) {
		own, err := measure.CPUSeconds(process.pid())
		if err != nil {
			return r, err
		}
		r.cpu += own
		if i == 0 {
			r.writer = own
		}
	}
	senders, err := d.numbers(ctx, "SELECT pid::float8 FROM pg_stat_activity WHERE backend_type = 'walsender'")
	if err != nil {
		return r, err
	}
	for _, pid := range senders {
		own, err := measure.CPUSeconds(int(pid))
		if err != nil {
			return r, err
		}
		r.decoder += own
	}
	err = d.QueryRow(ctx, "SELECT (wal_write_time + wal_sync_time) / 1000 FROM pg_stat_wal").Scan(&r.flush)
	return r, err
}

// locksHeld are parts of the time for which a lock of the whole deployment was held.
type locksHeld struct {
	promotion, notify float64
}

// watchLocks looks every 20 ms who holds the lock of promotions and the server's lock that keeps commits with notifications in their order,
// until ctx ends.
func watchLocks(ctx context.Context, d *database) (held locksHeld) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for looks := 1.0; ; looks++ {
		select {
		case <-ctx.Done():
			held.promotion /= looks - 1
			held.notify /= looks - 1
			return held
		case <-tick.C:
		}
		var promotion, notify float64
		err := d.QueryRow(ctx, `SELECT coalesce((SELECT max((pg_xact_status(nullif(l.xmax::text, '0')::xid8) = 'in progress')::int) FROM rowrun.promotion_lock l), 0)::float8,
			(SELECT count(*) FROM pg_locks WHERE locktype = 'object' AND classid = 'pg_database'::regclass AND objid = 0 AND granted)::float8`).Scan(&promotion, &notify)
		if err != nil {
			looks--
			continue
		}
		held.promotion += promotion
		held.notify += notify
	}
}
