package main

import (
	"context"
	"fmt"
	"strconv"
)

// gates lets one replica work off runs that wait for each other, in alternating rounds with runs without gates and with
// River, whose jobs have none.
func (b *bench) gates(ctx context.Context) error {
	return b.on(ctx, func(s *server) error {
		d, err := b.database(ctx, s, "rowrun", true)
		if err != nil {
			return err
		}
		other, err := b.database(ctx, s, "river", false)
		if err != nil {
			return err
		}
		flags := []string{"--concurrency", strconv.Itoa(riverWorkers)}
		free := b.noop(d, "Rowrun, no gates", flags...)
		tuned := b.river(other, "River tuned, no gates", "river-tuned")
		databases := b.scale(300, 1000)
		versions := b.runs(d, fmt.Sprintf("Rowrun, %d databases × 100 versions", databases), versionsOf(databases), flags...)
		versions.goal = "≥ 1.0 × River, ≥ 0.70 × no gates"
		few := b.runs(d, "Rowrun, 10 plans with limit 20", limitedPlans(10), flags...)
		few.goal = "≥ 0.7 × River"
		many := b.runs(d, "Rowrun, 100 plans with limit 20", limitedPlans(100), flags...)
		many.goal = "≥ 0.50 × no gates"
		all := []*contender{free, tuned, versions, few, many}
		rounds, jobs := b.scale(3, 5), 100*databases
		if err := alternate(ctx, s, rounds, jobs, all); err != nil {
			return err
		}
		b.table.rates(rounds, jobs, all, tuned, free)
		return nil
	})
}

// versionsOf are $1 runs of as many tasks: the versions of so many databases, the first of each first.
func versionsOf(databases int) string {
	return fmt.Sprintf(`INSERT INTO rowrun.task (type, database_id, version)
		SELECT 'NOOP', 'db' || i %% %d, (i / %[1]d + 1)::text FROM generate_series(0, $1::int - 1) i`, databases) + insertRuns
}

// limitedPlans are $1 runs of the tasks of so many plans, at most 20 of each at once.
func limitedPlans(plans int) string {
	return fmt.Sprintf(`INSERT INTO rowrun.plan (parallel_limit) SELECT 20 FROM generate_series(1, %d);
		INSERT INTO rowrun.task (plan_id, type)
		SELECT p.id, 'NOOP' FROM rowrun.plan p, generate_series(1, $1::int / %[1]d) i ORDER BY i, p.id`, plans) + insertRuns
}
