package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Retry says whether a failure may get a successor.
type Retry string

// What may follow a failure.
const (
	RetryNone    Retry = "NONE"    // nothing
	RetryFailure Retry = "FAILURE" // a retry, while max_attempts lasts
	RetryStale   Retry = "STALE"   // a recovery, where the task's on_stale says so
	RetrySnoozed Retry = "SNOOZED" // a successor that counts against nothing, after so many seconds as Result's snooze_seconds says
)

// Ending is how a RUNNING run ends. One of which a cancel was asked for ends CANCELED instead of FAILED.
type Ending struct {
	ID    int64
	Claim string // "" asks for none: only where the holder is known to be gone
	// PlanTask is the task of a run that belongs to a plan, 0 for one that doesn't.
	PlanTask int64
	// Database is that of the run, "" for none: others may wait there for its end.
	Database string
	// Failed ends it FAILED with Result's code and detail, otherwise it is DONE.
	Failed bool
	Result json.RawMessage // a JSON object
	Retry  Retry
}

// Ended is what was recorded.
type Ended struct {
	ID         int64
	Status     string
	RetryRunID *int64
	// FinishedAt and Xid, the transaction, are told of what a replica has ended itself.
	FinishedAt time.Time `db:"-"`
	Xid        uint64    `db:"-"`
}

// Opened is what ends have let start.
type Opened struct {
	// Promoted counts the runs that became AVAILABLE in the same transaction.
	Promoted int
	// Marked: others may start, for the next pass to find.
	Marked bool
}

// EndRuns ends runs in one transaction. Runs that are missing in the answer had ended or belong to somebody else by
// now; nothing was written for them. A row that somebody holds for longer than lockTimeout costs the batch: SQLSTATE
// 55P03, nothing is recorded, and the caller tries again in smaller parts. lockTimeout 0: no limit of its own. The
// slice is put in the order of ids.
func (s *Store) EndRuns(ctx context.Context, endings []Ending, lockTimeout time.Duration) ([]Ended, Opened, error) {
	return s.endRunsOn(ctx, s.ends, endings, lockTimeout)
}

// EndHeldRuns is EndRuns for endings that wait behind somebody's lock: on another connection, so that others don't.
func (s *Store) EndHeldRuns(ctx context.Context, endings []Ending, lockTimeout time.Duration) ([]Ended, Opened, error) {
	return s.endRunsOn(ctx, s.pool, endings, lockTimeout)
}

// endRunsOn ends runs whose texts the database can't hold with texts that it can.
func (s *Store) endRunsOn(ctx context.Context, pool *pool, endings []Ending, lockTimeout time.Duration) ([]Ended, Opened, error) {
	fitEndings(endings, s.holds())
	ended, opened, err := s.endRunsAsTheyAre(ctx, pool, endings, lockTimeout)
	if unstorable(err) {
		fitEndings(endings, s.holdsSurely())
		ended, opened, err = s.endRunsAsTheyAre(ctx, pool, endings, lockTimeout)
	}
	return ended, opened, err
}

func fitEndings(endings []Ending, can held) {
	if can == nil {
		return
	}
	for i := range endings {
		endings[i].Result = json.RawMessage(fitJSON(string(endings[i].Result), can))
	}
}

func (s *Store) endRunsAsTheyAre(ctx context.Context, pool *pool, endings []Ending, lockTimeout time.Duration) ([]Ended, Opened, error) {
	r, err := s.sendEndings(ctx, pool, endings, lockTimeout, queueEndings)
	if err != nil {
		return nil, Opened{}, err
	}
	var left []Ending
	if len(r.ended) < len(endings) {
		left = unended(endings, r.ended)
	}
	if len(left) == 0 {
		return r.ended, r.opened, nil
	}
	more, err := s.sendEndings(ctx, pool, left, lockTimeout, queueEndRuns)
	// Limits may be why they were left, whose places come free with a mark.
	return append(r.ended, more.ended...), Opened{r.opened.Promoted, true}, err
}

// recorded is what came of endings that were queued.
type recorded struct {
	ended  []Ended
	opened Opened
	// handing claims what the ends let start, for a replica; nil: nothing is claimed.
	handing   *handing
	replicaID string
	// filling claims what takes the slots that come free in plans; nil: plans get marks.
	filling *handing
	most    int  // how many runs of a plan it takes on
	limited bool // there may be limits, whose places come free
}

// sendEndings writes endings by one of two ways, in a transaction of its own.
func (s *Store) sendEndings(ctx context.Context, pool *pool, endings []Ending, lockTimeout time.Duration,
	queue func(*pgx.Batch, []Ending, *recorded),
) (r recorded, err error) {
	b := &pgx.Batch{}
	if lockTimeout > 0 {
		b.Queue(`SELECT set_config('lock_timeout', $1, true)`, milliseconds(lockTimeout))
	}
	r.limited = s.limited.Load()
	queue(b, endings, &r)
	if err := pool.SendBatch(ctx, b).Close(); err != nil {
		return recorded{}, fmt.Errorf("end runs: %w", err)
	}
	return r, nil
}

// queueEndings puts endings in the order of ids, and the statements that write them into a batch.
func queueEndings(b *pgx.Batch, endings []Ending, r *recorded) {
	slices.SortFunc(endings, func(a, b Ending) int { return cmp.Compare(a.ID, b.ID) })
	if r.filling != nil {
		var planned []Ending
		planned, endings = byPlan(endings)
		queueEndRuns(b, planned, r)
		queueFilling(b, planned, r)
	}
	if !allPlain(endings) {
		queueEndRuns(b, endings, r)
		return
	}
	if len(endings) == 0 {
		return
	}
	databases := databasesOf(endings)
	queuePlainEnds(b, endings, databases, r)
	if len(databases) == 0 {
		return
	}
	marked := 0
	if h := r.handing; h != nil {
		b.Queue(statement("promote_next_and_claim"), append([]any{databases, r.replicaID}, h.args...)...).Query(func(rows pgx.Rows) error {
			err := h.collect(rows, &r.opened.Promoted, &marked)
			r.opened.Marked = r.opened.Marked || marked > 0
			return err
		})
		return
	}
	b.Queue(statement("promote_next_version"), databases).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&r.opened.Promoted, &marked)
		r.opened.Marked = r.opened.Marked || marked > 0
		return err
	})
}

// queueFilling queues the statement that fills the slots of plans whose runs end before it.
func queueFilling(b *pgx.Batch, planned []Ending, r *recorded) {
	args := append([]any{planTasksOf(planned), r.replicaID}, append(slices.Clone(r.filling.args), r.most)...)
	b.Queue(statement("promote_next_of_plans"), args...).Query(func(rows pgx.Rows) error {
		promoted, marked := 0, 0
		err := r.filling.collect(rows, &promoted, &marked)
		r.opened.Promoted += promoted
		r.opened.Marked = r.opened.Marked || marked > 0
		return err
	})
}

// byPlan tells endings of plans' runs from others.
func byPlan(endings []Ending) (planned, others []Ending) {
	for _, e := range endings {
		if e.PlanTask != 0 {
			planned = append(planned, e)
		} else {
			others = append(others, e)
		}
	}
	return planned, others
}

// queuePlainEnds queues the statement that ends plain runs, which for one is a simple UPDATE.
func queuePlainEnds(b *pgx.Batch, endings []Ending, databases []string, r *recorded) {
	if len(endings) == 1 && !r.limited {
		e := &endings[0]
		b.Queue(statement("end_plain_run"), e.ID, hashOf(e.Claim), e.result(), databases).Query(func(rows pgx.Rows) error {
			var id, xid int64
			var at time.Time
			_, err := pgx.ForEachRow(rows, []any{&id, &at, &xid, nil}, func() error {
				r.ended = append(r.ended, Ended{ID: id, Status: "DONE", FinishedAt: at, Xid: uint64(xid)}) //nolint:gosec // above 0
				return nil
			})
			return err
		})
		return
	}
	ids, hashes, results := make([]int64, len(endings)), make([][]byte, len(endings)), make([]string, len(endings))
	for i, e := range endings {
		ids[i], hashes[i], results[i] = e.ID, hashOf(e.Claim), e.result()
	}
	text, freed := statement("end_plain_runs"), false
	var done []int64
	var at []time.Time
	var xid pgtype.Int8
	told := []any{&done, &at, &xid}
	if r.limited {
		text, told = statement("end_plain_runs_limited"), append(told, &freed)
	}
	b.Queue(text, ids, hashes, results, databases).QueryRow(func(row pgx.Row) error {
		err := row.Scan(told...)
		r.opened.Marked = r.opened.Marked || freed
		for i, id := range done {
			r.ended = append(r.ended, Ended{ID: id, Status: "DONE", FinishedAt: at[i], Xid: uint64(xid.Int64)}) //nolint:gosec // above 0
		}
		return err
	})
}

// databasesOf are the databases on which plain runs end, in order.
func databasesOf(endings []Ending) []string {
	databases := []string{}
	for _, e := range endings {
		if e.Database != "" {
			databases = append(databases, e.Database)
		}
	}
	slices.Sort(databases)
	return slices.Compact(databases)
}

// opensDatabases is on how many databases the ends themselves let runs start; what others open, the next pass does.
func opensDatabases(endings []Ending) int {
	if !allPlain(endings) {
		return 0
	}
	return len(databasesOf(endings))
}

// fillable says whether the ends of plans' runs are of those whose slots are filled in their own transaction: they went well, so
// that no round ends with a failure and no plan is stopped, and open nothing on a database.
func fillable(endings []Ending) bool {
	planned, others := byPlan(endings)
	return len(planned) > 0 && allPlain(others) &&
		!slices.ContainsFunc(planned, func(e Ending) bool { return e.Failed || e.Claim == "" || e.Database != "" })
}

func allPlain(endings []Ending) bool {
	return !slices.ContainsFunc(endings, func(e Ending) bool { return !e.plain() })
}

// unended are the endings that the statement for plain runs left to the function.
func unended(endings []Ending, ended []Ended) []Ending {
	if !allPlain(endings) {
		return nil
	}
	done := make(map[int64]bool, len(ended))
	for _, e := range ended {
		done[e.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(endings), func(e Ending) bool { return done[e.ID] })
}

// planTasksOf are the tasks of plans of which runs end.
func planTasksOf(endings []Ending) []int64 {
	tasks := []int64{}
	for _, e := range endings {
		if e.PlanTask != 0 {
			tasks = append(tasks, e.PlanTask)
		}
	}
	return tasks
}

func queueEndRuns(b *pgx.Batch, endings []Ending, r *recorded) {
	ids := make([]int64, len(endings))
	claims := make([]pgtype.UUID, len(endings)) // texts would go as one, in which array_nulls = off knows no NULL
	statuses := make([]string, len(endings))
	results := make([]string, len(endings))
	retries := make([]string, len(endings))
	for i, e := range endings {
		ids[i] = e.ID
		if e.Claim != "" {
			claim, _ := uuid.Parse(e.Claim) // what is none is no run's, and doesn't ask for none
			claims[i] = pgtype.UUID{Bytes: claim, Valid: true}
		}
		statuses[i] = "DONE"
		if e.Failed {
			statuses[i] = "FAILED"
		}
		results[i] = e.result()
		r.opened.Marked = r.opened.Marked || r.limited || r.filling == nil && (e.PlanTask != 0 || e.Database != "")
		retries[i] = string(RetryNone)
		if e.Retry != "" {
			retries[i] = string(e.Retry)
		}
	}
	text := statement("end_runs")
	if r.filling != nil {
		text = statement("end_batch")
	}
	b.Queue(text, ids, claims, statuses, results, retries, planTasksOf(endings)).Query(func(rows pgx.Rows) error {
		var e Ended
		var xid int64
		_, err := pgx.ForEachRow(rows, []any{&e.ID, &e.Status, &e.RetryRunID, &e.FinishedAt, &xid}, func() error {
			e.Xid = uint64(xid) //nolint:gosec // above 0
			r.ended = append(r.ended, e)
			e.RetryRunID = nil
			return nil
		})
		return err
	})
}

// plain endings are those that most likely concern nothing but the run's own row, and who waits on its database.
func (e *Ending) plain() bool {
	return !e.Failed && e.PlanTask == 0 && e.Claim != ""
}

func (e *Ending) result() string {
	if len(e.Result) == 0 {
		return "{}"
	}
	return string(e.Result)
}

// milliseconds is a duration as PostgreSQL's settings take it.
func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }

// ReportProgress stores what an executor reports. False: the run had ended or belongs to somebody else.
func (s *Store) ReportProgress(ctx context.Context, id int64, claim string, progress json.RawMessage) (bool, error) {
	tag, err := s.execFitting(ctx, statement("report_progress"), string(progress), id, claim)
	if err != nil {
		return false, fmt.Errorf("report progress: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// AppendLog adds a row to a run's log. detail is JSON of at most 1 MiB. An id that is taken, by rows that were restored
// ahead of the sequence, is passed by.
func (s *Store) AppendLog(ctx context.Context, id int64, replicaID, kind string, detail json.RawMessage) error {
	_, err := s.execFitting(ctx, statement("append_log"), string(detail), id, replicaID, kind)
	if SQLState(err) == uniqueViolation {
		_, err = s.execFitting(ctx, statement("append_log_behind"), string(detail), id, replicaID, kind)
	}
	if err != nil {
		return fmt.Errorf("append to run log: %w", err)
	}
	return nil
}
