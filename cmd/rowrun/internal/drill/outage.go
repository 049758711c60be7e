package drill

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// launch is what a worker needs to start, to connect and to claim.
const launch = 30 * time.Second

// outage has workers at work, stops them, looks what comes of it, and has new ones finish the rest. Where there is nothing to go
// on with it ends early: the steps say why.
func (d *Drill) outage(ctx context.Context) error {
	lost, ok, err := d.started(ctx)
	if err != nil || !ok {
		return err
	}
	w, err := d.stopped(ctx, lost)
	if err != nil {
		return err
	}
	if err := d.watched(ctx, w); err != nil {
		return err
	}
	return d.recovered(ctx, w)
}

// started waits until workers have runs.
func (d *Drill) started(ctx context.Context) (lost []Lost, ok bool, err error) {
	begun, within, reason := time.Now(), launch+d.cfg.Slack, "a process starts, connects, registers and claims"
	// Half of the runs are not taken: new workers find lost ones and those that nobody had.
	slots := max(1, d.cfg.Jobs/(2*d.cfg.Workers))
	want := d.cfg.Workers * slots
	if d.cfg.ByHand {
		within, reason = d.cfg.Patience, "a person starts replicas"
		d.cfg.Waiting("start one or more replicas on queue " + d.queue + " now, such as: rowrun serve --queues " + d.queue)
	} else if err := d.hire(slots); err != nil {
		return nil, false, err
	} else {
		d.cfg.Waiting(fmt.Sprintf("%d workers start", d.cfg.Workers))
	}
	workers := d.cfg.Workers
	if d.cfg.ByHand { // how many will come isn't known
		workers = 1
	}
	running, since := 0, time.Now()
	ok, err = poll(ctx, within, func() (bool, error) {
		if err := d.dead(0); err != nil {
			return false, err
		}
		if lost, err = d.live(ctx); err != nil {
			return false, err
		}
		if d.report.Runs.Inserted == 0 {
			if len(lost) < workers {
				return false, nil
			}
			return false, d.insertJobs(ctx)
		}
		now := 0
		for _, l := range lost {
			now += l.Running
		}
		if now != running {
			running, since = now, time.Now()
		}
		if d.cfg.ByHand { // how many slots they have isn't known
			return running == d.cfg.Jobs || running > 0 && time.Since(since) > 3*time.Second, nil
		}
		return running == want && len(lost) == d.cfg.Workers, nil
	})
	if err != nil {
		return nil, false, err
	}
	found := fmt.Sprintf("%d workers have %d of %d runs", len(lost), running, d.cfg.Jobs)
	if !ok && len(d.workers) > 0 {
		found += "; the first says: " + strings.TrimSpace(d.workers[0].Log.String())
	}
	d.add(Step{Name: StepStarted, Passed: ok, Found: found}, time.Since(begun), within, reason)
	return lost, ok, nil
}

// insertJobs inserts the runs once there are workers: runs that nobody can run are a sign of an outage, and none stands before.
func (d *Drill) insertJobs(ctx context.Context) error {
	const q = `-- drill_jobs
INSERT INTO rowrun.task_run (task_id) SELECT $1::bigint FROM generate_series(1, $2::int)`
	if err := d.exec(ctx, q, d.task, d.cfg.Jobs); err != nil {
		return fmt.Errorf("insert runs: %w", err)
	}
	d.report.Runs.Inserted = d.cfg.Jobs
	return nil
}

// live are the workers that are to be lost: those that serve the queue.
func (d *Drill) live(ctx context.Context) ([]Lost, error) {
	const q = `-- drill_live
SELECT h.replica_id, h.name, (extract(epoch FROM h.lease) * 1000)::bigint, h.last_heartbeat,
       (SELECT count(*) FROM rowrun.task_run r WHERE r.replica_id = h.replica_id AND r.status = 'RUNNING' AND r.task_id = $2)::int
FROM rowrun.replica_heartbeat h
WHERE $1 = ANY (h.queues) AND h.state <> 'DEAD' AND NOT h.worker AND h.role = 'worker' AND h.last_heartbeat + h.lease > clock_timestamp()
ORDER BY h.name, h.replica_id`
	found, err := list[Lost](ctx, d, q, d.queue, d.task)
	if err != nil {
		return nil, fmt.Errorf("look for workers: %w", err)
	}
	return found, nil
}

// watch is what is looked at after the outage.
type watch struct {
	replicas []string
	runs     []int64
	outage   time.Time // of this machine; the report has the database's
	now      sight
	// When each was first seen; zero: not yet.
	noticed, alerted, settled, back, done time.Time
}

// stopped stops the workers.
func (d *Drill) stopped(ctx context.Context, lost []Lost) (*watch, error) {
	w := &watch{}
	d.report.Lost, d.lease = lost, 0
	for _, l := range lost {
		w.replicas = append(w.replicas, l.ReplicaID)
		d.lease = max(d.lease, time.Duration(l.LeaseMS)*time.Millisecond)
	}
	const q = `-- drill_running
SELECT r.id FROM rowrun.task_run r WHERE r.task_id = $1 AND r.status = 'RUNNING' AND r.replica_id = ANY ($2) ORDER BY r.id`
	type row struct{ ID int64 }
	rows, err := list[row](ctx, d, q, d.task, w.replicas)
	if err != nil {
		return nil, fmt.Errorf("look for runs: %w", err)
	}
	for _, r := range rows {
		w.runs = append(w.runs, r.ID)
	}
	d.report.Runs.Lost = len(w.runs)
	if err := d.baseline(ctx); err != nil {
		return nil, err
	}
	begun, within, reason := time.Now(), d.cfg.Slack, "a killed process is gone at once"
	found := fmt.Sprintf("%d workers killed with %d runs, %d more wait", len(lost), len(w.runs), d.cfg.Jobs-len(w.runs))
	if d.cfg.ByHand {
		within, reason = d.cfg.Patience, "a person stops replicas"
		found = fmt.Sprintf("%d workers said to be stopped with %d runs, %d more wait", len(lost), len(w.runs), d.cfg.Jobs-len(w.runs))
		names := make([]string, 0, len(lost))
		for _, l := range lost {
			names = append(names, l.Name)
		}
		ask, cancel := context.WithTimeout(ctx, d.cfg.Patience)
		defer cancel()
		err := d.cfg.Ask(ask, "stop these replicas now, hard (kill -9, power, network; SIGTERM would drain them): "+strings.Join(names, ", "))
		if err != nil {
			return nil, err
		}
	} else {
		for _, worker := range d.workers {
			_ = worker.Process.Kill() // all at once; each is waited for below
		}
		for _, worker := range d.workers {
			worker.kill()
		}
	}
	// What is claimed from now on ends soon.
	const short = `-- drill_hurry
UPDATE rowrun.task SET payload = '{"sleep": "100ms"}' WHERE id = $1 RETURNING clock_timestamp()`
	var at time.Time
	if err := d.ask(ctx, short, []any{d.task}, &at); err != nil {
		return nil, fmt.Errorf("change the task: %w", err)
	}
	w.outage, d.report.OutageAt = time.Now(), &at
	d.add(Step{Name: StepStopped, Passed: true, Found: found}, time.Since(begun), within, reason)
	return w, nil
}

// sight is one look.
type sight struct {
	Live  int            // lost workers whose lease is in force
	Ends  map[string]int // of the lost runs: how many have which code, and a successor or none
	Early int            // of them, declared dead before the lease was over
	Done  int            // chains
	Fresh int            // other workers on the queue
}

const without = " without a successor"

// look is one look; it says when each thing was seen first.
func (d *Drill) look(ctx context.Context, w *watch) error {
	const q = `-- drill_look
SELECT (SELECT count(*) FROM rowrun.replica_heartbeat h
        WHERE h.replica_id = ANY ($1) AND h.state <> 'DEAD' AND h.last_heartbeat + h.lease > clock_timestamp())::int,
       (SELECT coalesce(jsonb_object_agg(e.code, e.runs), '{}') FROM (
           SELECT coalesce(r.result ->> 'code', r.status) || CASE WHEN r.retry_run_id IS NULL THEN ' without a successor' ELSE '' END AS code, count(*) AS runs
           FROM rowrun.task_run r WHERE r.id = ANY ($2) AND r.status <> 'RUNNING' GROUP BY 1) e),
       (SELECT count(*) FROM rowrun.task_run r JOIN rowrun.replica_heartbeat h ON h.replica_id = r.replica_id
        WHERE r.id = ANY ($2) AND r.result ->> 'code' = 'STALE' AND r.finished_at < h.last_heartbeat + h.lease)::int,
       (SELECT count(*) FROM rowrun.task_run r WHERE r.task_id = $3 AND r.status = 'DONE' AND r.retry_run_id IS NULL)::int,
       (SELECT count(*) FROM rowrun.replica_heartbeat h
        WHERE $4 = ANY (h.queues) AND h.replica_id <> ALL ($1) AND h.state <> 'DEAD' AND NOT h.worker AND h.role = 'worker' AND h.last_heartbeat + h.lease > clock_timestamp())::int`
	s := sight{}
	if err := d.ask(ctx, q, []any{w.replicas, w.runs, d.task, d.queue}, &s.Live, &s.Ends, &s.Early, &s.Done, &s.Fresh); err != nil {
		return fmt.Errorf("look at what became of it: %w", err)
	}
	w.now = s
	now := time.Now()
	first := func(at *time.Time, seen bool) {
		if seen && at.IsZero() {
			*at = now
		}
	}
	ended := 0
	for _, runs := range s.Ends {
		ended += runs
	}
	first(&w.noticed, s.Live == 0)
	first(&w.settled, ended == len(w.runs))
	first(&w.back, s.Fresh > 0)
	first(&w.done, s.Done == d.cfg.Jobs)
	if w.alerted.IsZero() {
		first(&w.alerted, d.listen(ctx, w.outage, s.Live < len(w.replicas)))
	}
	return nil
}

// watched waits until the loss is noticed, told of and, where others live, settled.
func (d *Drill) watched(ctx context.Context, w *watch) error {
	within := d.deadlines()
	most := max(within.noticed, within.alerted)
	if d.others > 0 {
		most = max(most, within.settled)
	}
	d.cfg.Waiting(fmt.Sprintf("the workers' lease is %s: that they are lost is noticed then, and told of and settled within %s", d.lease, most))
	_, err := poll(ctx, most, func() (bool, error) {
		if err := d.look(ctx, w); err != nil {
			return false, err
		}
		return !w.noticed.IsZero() && !w.alerted.IsZero() && (d.others == 0 || !w.settled.IsZero()), nil
	})
	if err != nil {
		return err
	}
	d.lastWords(ctx)
	found := "no lease of theirs is in force"
	if w.noticed.IsZero() {
		found = fmt.Sprintf("%d of %d workers still hold a lease: they were not stopped, or go on", w.now.Live, len(w.replicas))
	}
	d.time(StepNoticed, w.noticed, w.outage, within.noticed, within.noticedReason, true, found)
	told := 0
	for _, s := range d.sources {
		alert := Alert{Source: s.name, Seen: "nothing" + map[bool]string{true: ": " + s.failed}[s.failed != ""]}
		if s.alert != nil {
			alert = *s.alert
			told++
		}
		d.report.Alerts = append(d.report.Alerts, alert)
	}
	d.time(StepAlerted, w.alerted, w.outage, within.alerted, within.alertedReason, true, fmt.Sprintf("%d of %d sources told of it", told, len(d.sources)))
	if d.others > 0 {
		d.settled(w, w.outage, within.settled, within.settledReason)
	}
	return nil
}

// lastWords puts the last heartbeats into the report, as they are read when nobody sends one any more.
func (d *Drill) lastWords(ctx context.Context) {
	for i := range d.report.Lost {
		l := &d.report.Lost[i]
		const q = `-- drill_last_heartbeat
SELECT h.last_heartbeat FROM rowrun.replica_heartbeat h WHERE h.replica_id = $1`
		_ = d.ask(ctx, q, []any{l.ReplicaID}, &l.LastHeartbeat) // what was read before stays, where the row is gone
	}
}

// recovered has new workers finish what is left.
func (d *Drill) recovered(ctx context.Context, w *watch) error {
	arrive := launch + d.cfg.Slack
	from := len(d.workers)
	if d.cfg.ByHand {
		arrive = d.cfg.Patience
		if w.now.Fresh == 0 {
			d.cfg.Waiting("start the replicas on queue " + d.queue + " again")
		}
	} else {
		d.cfg.Waiting(fmt.Sprintf("%d new workers finish the rest", d.cfg.Workers))
		if err := d.hire((d.cfg.Jobs + d.cfg.Workers - 1) / d.cfg.Workers); err != nil {
			return err
		}
	}
	look := func(enough func() bool) func() (bool, error) {
		return func() (bool, error) {
			if err := d.dead(from); err != nil {
				return false, err
			}
			if err := d.look(ctx, w); err != nil {
				return false, err
			}
			return enough(), nil
		}
	}
	if _, err := poll(ctx, arrive, look(func() bool { return !w.back.IsZero() })); err != nil {
		return err
	}
	within := d.deadlines()
	if !w.back.IsZero() {
		if _, err := poll(ctx, within.recovered, look(func() bool { return !w.done.IsZero() && !w.settled.IsZero() })); err != nil {
			return err
		}
	}
	if d.others == 0 {
		d.settled(w, w.back, within.settled, within.settledReason)
	}
	d.report.Runs.Settled, d.report.Runs.Done = good(w.now.Ends), w.now.Done
	found := fmt.Sprintf("%d of %d jobs are DONE", w.now.Done, d.cfg.Jobs)
	if w.back.IsZero() {
		found += "; no new worker came"
	}
	d.time(StepRecovered, w.done, w.back, within.recovered, within.recoveredReason, true, found)
	return nil
}

// settled is the step.
func (d *Drill) settled(w *watch, since time.Time, within time.Duration, reason string) {
	ok, found := judgeEnds(w.now.Ends, len(w.runs), w.now.Early)
	d.time(StepSettled, w.settled, since, within, reason, ok, found)
}

// time adds a step by when it was seen; zero: it wasn't.
func (d *Drill) time(name string, seen, since time.Time, within time.Duration, reason string, ok bool, found string) {
	after := max(0, seen.Sub(since)) // what came back by itself may be earlier
	if seen.IsZero() || since.IsZero() {
		after, ok = within, false
	}
	d.add(Step{Name: name, Passed: ok && after <= within, Found: found}, after, within, reason)
}

// good counts ends as they should be: lost with their replica, with a successor. One that was cut off and came back says itself
// that it had lost contact.
func good(ends map[string]int) int { return ends["STALE"] + ends["LOST_CONTACT"] }

// judgeEnds says whether the lost runs ended as they should, in words.
func judgeEnds(ends map[string]int, lost, early int) (ok bool, found string) {
	settled := good(ends)
	found = fmt.Sprintf("%d of %d lost runs FAILED as STALE or LOST_CONTACT, each with a successor", settled, lost)
	for _, code := range slices.Sorted(maps.Keys(ends)) {
		if code != "STALE" && code != "LOST_CONTACT" {
			found += fmt.Sprintf("; %d ended as %s", ends[code], code)
		}
	}
	if ends["DRAINED"]+ends["DRAINED"+without] > 0 {
		found += " (the replicas were asked to stop: that is no loss)"
	}
	if early > 0 {
		return false, found + fmt.Sprintf("; %d were declared dead before their lease was over", early)
	}
	return settled == lost, found
}
