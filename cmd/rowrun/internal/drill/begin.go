package drill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rowrun/rowrun/store"
)

// payload is that of all its runs.
const payload = `{"sleep": "6h"}`

// begin refuses what can't be drilled, removes what a drill that was killed has left, and makes the task.
func (d *Drill) begin(ctx context.Context) error {
	if err := d.checkRights(ctx); err != nil {
		return err
	}
	gone, err := d.clean(ctx)
	if err != nil {
		return err
	}
	d.report = Report{
		Drill: d.name, Mode: d.mode(), Program: d.program(), Queue: d.queue, Type: d.kind,
		Lost: []Lost{}, Steps: []Step{}, Alerts: []Alert{}, Notes: []string{},
	}
	for _, name := range gone {
		d.report.Notes = append(d.report.Notes, "removed what drill "+name+" had left, which was interrupted")
	}
	if err := d.introduce(ctx); err != nil {
		return err
	}
	if err := d.checkQueue(ctx); err != nil {
		return err
	}
	if err := d.checkLimits(ctx); err != nil {
		return err
	}
	if err := d.checkCompany(ctx); err != nil {
		return err
	}
	if err := d.openSources(ctx); err != nil {
		return err
	}
	host, _ := os.Hostname()
	const task = `-- drill_task
INSERT INTO rowrun.task (name, type, queue, payload, timeout, max_attempts, on_stale, labels)
VALUES ($1, $2, $3, $6, '0', 1, 'RETRY', jsonb_build_object('rowrun_drill', $1::text, 'host', $4::text, 'mode', $5::text)) RETURNING id`
	if err := d.ask(ctx, task, []any{d.name, d.kind, d.queue, host, d.mode(), payload}, &d.task); err != nil {
		// Interrupted, it may have been made all the same.
		_, left := d.clean(context.WithoutCancel(ctx))
		return errors.Join(fmt.Errorf("make a task: %w", err), left)
	}
	return nil
}

// checkRights names what the role lacks, before anything is made.
func (d *Drill) checkRights(ctx context.Context) error {
	const q = `-- drill_rights
SELECT current_user, has_table_privilege('rowrun.task', 'INSERT') AND has_table_privilege('rowrun.task_run', 'INSERT'),
       has_table_privilege('rowrun.replica_heartbeat', 'INSERT') AND has_table_privilege('rowrun.task_run', 'UPDATE'),
       has_function_privilege('rowrun.abandon_run(bigint, text)', 'EXECUTE'), rowrun.deployment_elsewhere()`
	var role string
	var client, replica, abandons, elsewhere bool
	if err := d.ask(ctx, q, nil, &role, &client, &replica, &abandons, &elsewhere); err != nil {
		return fmt.Errorf("look at this role's rights: %w", err)
	}
	var lacks []string
	if !client {
		lacks = append(lacks, "rowrun_client")
	}
	switch {
	case !d.cfg.ByHand && !replica:
		lacks = append(lacks, "rowrun_replica")
	case d.cfg.ByHand && !abandons:
		lacks = []string{"rowrun_operator"}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("the role %s may not hold a drill, which inserts runs and cleans up%s: GRANT %s TO it, or use the owner of the schema", role,
			map[bool]string{false: ", and whose workers are replicas"}[d.cfg.ByHand], strings.Join(lacks, ", "))
	}
	if elsewhere {
		return errors.New("this database is a copy of another deployment, in which replicas wait: say what it is with `rowrun migrate deployment`")
	}
	return nil
}

// introduce says where the drill is held.
func (d *Drill) introduce(ctx context.Context) error {
	const q = `-- drill_facts
SELECT clock_timestamp(), d.id::text, current_setting('server_version'), (SELECT max(m.version) FROM rowrun.migration m),
       (SELECT count(*) FROM rowrun.replica_heartbeat h WHERE h.state <> 'DEAD' AND NOT h.worker AND h.last_heartbeat + h.lease > clock_timestamp()
        AND NOT $1 = ANY (h.queues))
FROM rowrun.deployment d`
	in := &d.report.Deployment
	if err := d.ask(ctx, q, []any{d.queue}, &d.report.BeganAt, &in.ID, &in.ServerVersion, &in.SchemaVersion, &in.Others); err != nil {
		return fmt.Errorf("look at the deployment: %w", err)
	}
	d.others = in.Others
	return nil
}

// checkQueue refuses a queue in which others have tasks or runs, or that others' replicas serve.
func (d *Drill) checkQueue(ctx context.Context) error {
	const q = `-- drill_queue
SELECT (SELECT count(*) FROM (SELECT FROM rowrun.task k WHERE k.queue = $1 LIMIT 1000) k),
       (SELECT count(*) FROM (SELECT FROM rowrun.task_run r WHERE r.queue = $1 AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') LIMIT 1000) r),
       (SELECT count(*) FROM rowrun.replica_heartbeat h WHERE $1 = ANY (h.queues) AND h.state <> 'DEAD' AND h.last_heartbeat + h.lease > clock_timestamp())`
	if d.cfg.Queue == "" {
		return nil // one named like the drill: its eight digits were drawn now
	}
	var tasks, runs, replicas int
	if err := d.ask(ctx, q, []any{d.queue}, &tasks, &runs, &replicas); err != nil {
		return fmt.Errorf("look at queue %s: %w", d.queue, err)
	}
	switch {
	case tasks > 0 || runs > 0:
		return fmt.Errorf("queue %s has work of others: %d tasks, %d runs that have not ended; a drill needs a queue of its own: leave out --drill-queue, or name another", d.queue, tasks, runs)
	case replicas > 0 && !d.cfg.ByHand:
		return fmt.Errorf("queue %s is served by %d live replicas of others, which would run what the drill's workers are to lose: leave out --drill-queue, or name another", d.queue, replicas)
	}
	return nil
}

// checkLimits refuses limits that hold for the drill's runs: these would take places and tokens of others' work, and wait for them.
func (d *Drill) checkLimits(ctx context.Context) error {
	const q = `-- drill_limits
SELECT coalesce(array_agg(l.name ORDER BY l.name), '{}') FROM rowrun.concurrency_limit l
WHERE (l.type IS NULL OR l.type = $1) AND (l.queue IS NULL OR l.queue = $2) AND (l.key_path IS NULL OR $3::jsonb #>> l.key_path IS NOT NULL)`
	var names []string
	if err := d.ask(ctx, q, []any{d.kind, d.queue, payload}, &names); err != nil {
		return fmt.Errorf("look at limits: %w", err)
	}
	if len(names) > 0 {
		return fmt.Errorf("the drill's runs, of type %s in queue %s, would take places of others' work in these limits: %s; give each a type or a queue that isn't the drill's, or delete it for as long",
			d.kind, d.queue, strings.Join(names, ", "))
	}
	return nil
}

// checkCompany refuses to let the drill's workers be the first replicas that others' work sees.
func (d *Drill) checkCompany(ctx context.Context) error {
	if d.cfg.ByHand || d.others > 0 {
		return nil
	}
	const q = `-- drill_company
SELECT (SELECT count(*) FROM (SELECT FROM rowrun.task_run r WHERE r.status IN ('PENDING', 'AVAILABLE', 'RUNNING') LIMIT 10000) r)`
	var runs int
	if err := d.ask(ctx, q, nil, &runs); err != nil {
		return fmt.Errorf("look for others' work: %w", err)
	}
	if runs > 0 && !d.cfg.Alone {
		return fmt.Errorf("no replica lives, and %d runs of others have not ended: the drill's workers would be the only replicas, promote what is due and settle what is lost; "+
			"start the deployment's own first, or give --alone", runs)
	}
	d.report.Notes = append(d.report.Notes, "no other replica lived: what was lost is settled by new workers, as after an outage of the whole deployment")
	return nil
}

// openSources asks each source once: one that can't be asked is no witness.
func (d *Drill) openSources(ctx context.Context) error {
	d.sources = []*source{d.healthSource(), d.checkSource()}
	for _, address := range d.cfg.MetricsURLs {
		s, err := endpoint(address)
		if err != nil {
			return err
		}
		d.sources = append(d.sources, s)
	}
	for _, s := range d.sources {
		figures, err := s.ask(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if at := figures.deployment; at != "" && at != short(d.report.Deployment.ID) {
			return fmt.Errorf("%s tells of deployment %s, and this is %s: name an endpoint of this one", s.name, at, short(d.report.Deployment.ID))
		}
	}
	return nil
}

// short is how metrics name a deployment.
func short(uuid string) string {
	digits := strings.ReplaceAll(uuid, "-", "")
	return digits[:min(8, len(digits))]
}

// healthOf are the figures of the database under the names that replicas' metrics have.
func healthOf(h store.Health) map[string]float64 {
	return map[string]float64{
		seriesStale: float64(h.Stale), seriesOrphans: float64(h.Orphans), seriesLive: float64(h.LiveReplicas),
	}
}
