package bench

import (
	"context"
	"fmt"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// usage is what was used so far: Rowrun's statements on the server, and the replica's process.
type usage struct {
	calls, milliseconds float64 // of pg_stat_statements
	wal                 float64 // bytes; of those statements, or else of the whole server
	cpu                 float64 // seconds of the replica
	cpuKnown            bool
}

// used reads it. The replicas' statements have names in comments that bench's do not share.
func (b *Bench) used(ctx context.Context, r *replica) (u usage, err error) {
	if r != nil {
		cpu, err := measure.CPUSeconds(r.pid())
		u.cpu, u.cpuKnown = cpu, err == nil
	}
	if b.statements == "" {
		const q = `-- bench_wal
SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8`
		err = b.ask(ctx, q, nil, &u.wal)
	} else {
		err = b.ask(ctx, `-- bench_statements
SELECT coalesce(sum(calls), 0)::float8, coalesce(sum(total_exec_time), 0)::float8, coalesce(sum(wal_bytes), 0)::float8
FROM `+b.statements+`
WHERE dbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
  AND query LIKE '-- %' AND query NOT LIKE '-- bench\_%'`, nil, &u.calls, &u.milliseconds, &u.wal)
	}
	if err != nil {
		return u, fmt.Errorf("read what was used: %w", err)
	}
	return u, nil
}

// perRun adds to a case what one run has cost since before.
func (b *Bench) perRun(c *Case, before, after usage, runs int) {
	n := float64(max(runs, 1))
	if b.statements != "" {
		c.add("statements_per_run", "", max(0, after.calls-before.calls)/n)
		c.add("server_per_run", "µs", max(0, after.milliseconds-before.milliseconds)*1000/n)
	}
	c.add("wal_per_run", "B", max(0, after.wal-before.wal)/n)
	if before.cpuKnown && after.cpuKnown {
		c.add("cpu_per_run", "µs", (after.cpu-before.cpu)*1e6/n)
	}
}
