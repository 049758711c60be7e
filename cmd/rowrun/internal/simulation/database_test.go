package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// plan and task are rows that change now and then; for what a schedule does with them it is enough that all see the change at once.
type plan struct {
	id     int64
	limit  int // 0: none
	paused bool
}

type task struct {
	id          int64
	plan        *plan
	kind        string
	database    string
	version     int // 0: none
	sequential  bool
	priority    int
	maxAttempts int
	retryDelay  time.Duration
	again       bool // on_stale RETRY
	timeout     time.Duration
	silence     time.Duration // progress_timeout
	paused      bool
	after       *task // of the same plan
}

// gated says whether a run of it has to be judged before it is AVAILABLE.
func (k *task) gated() bool { return k.plan != nil || k.database != "" || k.paused }

// row is a version of a run.
type row struct {
	status               string
	replica, claim       string
	runAt                time.Time
	priority             int
	cancel, handedOver   bool
	deadline, progressAt time.Time
	code                 string // of the result
	by                   string // claim of who ended it, "": nobody's
	retryRun             int64

	available, started, finished time.Time
	prev                         string // the status before, where the newest version changed it
	xid                          uint64 // who wrote the newest version
	untold                       bool   // AVAILABLE from its INSERT on, which nothing has said yet
}

func (r *row) ended() bool {
	return r.status == "DONE" || r.status == "FAILED" || r.status == "CANCELED"
}

func (r *row) active() bool { return r.status == "AVAILABLE" || r.status == "RUNNING" }

// run is a run: its version that all see, and the one of the transaction that holds it.
type run struct {
	id, root, retryOf    int64
	attempt              int
	failures, recoveries int
	task                 *task
	created              time.Time
	edges                []*edge // that were committed
	row
	seen   bool // its INSERT has committed
	judged bool // since it is due: a mark has it judged again
	draft  row
	holds  *transaction
}

// replicaRow is a row of replica_heartbeat.
type replicaRow struct {
	id       string
	state    string
	beat     time.Time
	lease    time.Duration
	shared   map[*transaction]bool
	alone    *transaction
	released chan struct{} // closed and replaced when a lock goes
}

// transaction holds what it has changed until it ends.
type transaction struct {
	db       *database
	xid      uint64 // 0: it has written nothing
	pid      uint32
	replica  int // whose session, below 0: a user's
	runs     []*run
	replicas []*replicaRow
	then     []func() // at the commit
	says     []string
	edges    []*edge
	at       time.Time // when it began, by the database's clock
	done     chan struct{}
	over     bool
	lost     bool // it was rolled back
}

// database is the simulated database. mu guards all of it; nobody waits for anything but a moment of the processor with it.
type database struct {
	s  *sim
	mu sync.Mutex

	plans              []*plan
	tasks              []*task
	runs               map[int64]*run
	order              []*run // by id
	replicas           map[string]*replicaRow
	lastRun            int64
	lastXid, lastEnded uint64
	claims             int
	open               []*transaction
	lock               *transaction // who promotes
	marks              int
	buckets            map[int64]*transaction // who notifies for others within some ms
	sessions           []*session
	offset             time.Duration // of the clock
	down               bool
	users              int  // transactions of users that are to come or under way
	mute               bool // nothing is notified
	most               int  // how much a pass takes on
	stream             streamTables
}

func newDatabase(s *sim) *database {
	return &database{
		s: s, runs: map[int64]*run{}, replicas: map[string]*replicaRow{}, buckets: map[int64]*transaction{}, stream: newStreamTables(),
	}
}

// now is the database's clock.
func (db *database) now() time.Time { return time.Now().Add(db.offset) }

func (db *database) begin(replica int, pid uint32) *transaction {
	tx := &transaction{db: db, pid: pid, replica: replica, at: db.now(), done: make(chan struct{})}
	db.open = append(db.open, tx)
	return tx
}

// writes gives the transaction a number, which it has from its first write on.
func (tx *transaction) writes() {
	if tx.xid == 0 {
		tx.db.lastXid++
		tx.xid = tx.db.lastXid
	}
}

// of is the version of a run that a transaction sees.
func (tx *transaction) of(r *run) *row {
	if tx != nil && r.holds == tx {
		return &r.draft
	}
	return &r.row
}

func (tx *transaction) sees(r *run) bool { return r.seen || tx != nil && r.holds == tx }

// take locks a run that nobody else holds.
func (tx *transaction) take(r *run) bool {
	switch r.holds {
	case tx:
		return true
	case nil:
		tx.writes()
		r.holds, r.draft = tx, r.row
		tx.runs = append(tx.runs, r)
		return true
	}
	return false
}

// wait locks a run, however long others hold it, up to limit. mu is held, but for the wait.
func (db *database) wait(ctx context.Context, tx *transaction, r *run, limit time.Duration) error {
	var timeout <-chan time.Time
	for !tx.take(r) {
		if timeout == nil && limit > 0 {
			timer := time.NewTimer(limit)
			defer timer.Stop()
			timeout = timer.C
		}
		db.s.count("lock waited for")
		other := r.holds.done
		db.mu.Unlock()
		var err error
		select {
		case <-other:
		case <-timeout:
			db.s.count("lock not got")
			err = refusal("55P03")
		case <-ctx.Done():
			err = ctx.Err()
		}
		db.mu.Lock()
		if err == nil && tx.over {
			err = errReset
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// share locks a replica's row as a claim does.
func (tx *transaction) share(h *replicaRow) {
	if h != nil && !h.shared[tx] {
		tx.writes()
		h.shared[tx] = true
		tx.replicas = append(tx.replicas, h)
	}
}

// end ends a transaction: what it did is there for all, or for nobody. mu is held.
func (db *database) end(tx *transaction, commit bool) {
	if tx.over {
		return
	}
	tx.over, tx.lost = true, !commit
	db.lastEnded = max(db.lastEnded, tx.xid)
	db.open = slices.DeleteFunc(db.open, func(o *transaction) bool { return o == tx })
	db.free(tx, commit)
	if commit {
		for _, do := range tx.then {
			do()
		}
		heard := !db.mute
		for _, said := range tx.says {
			heard = heard && db.notify(tx.pid, said)
		}
		db.s.told.committed(tx, heard)
	}
	close(tx.done)
}

// free lets go of what a transaction holds. mu is held. One that the server has ended may have taken more before it came to know.
func (db *database) free(tx *transaction, commit bool) {
	for _, r := range tx.runs {
		if commit {
			r.row, r.seen = r.draft, true
		} else if !r.seen {
			delete(db.runs, r.id)
			db.order = slices.DeleteFunc(db.order, func(o *run) bool { return o == r })
		}
		r.holds = nil
	}
	for _, h := range tx.replicas {
		delete(h.shared, tx)
		if h.alone == tx {
			h.alone = nil
		}
		close(h.released)
		h.released = make(chan struct{})
	}
	if db.lock == tx {
		db.lock = nil
	}
	for bucket, by := range db.buckets {
		if by == tx {
			delete(db.buckets, bucket)
		}
	}
	tx.runs, tx.replicas = nil, nil
}

// restart ends all that is under way, as a server does that is stopped at once.
func (db *database) restart() {
	for _, tx := range slices.Clone(db.open) {
		db.end(tx, false)
	}
	for _, one := range slices.Clone(db.sessions) {
		one.cut()
	}
}

// insert adds a run that nobody sees yet.
func (db *database) insert(tx *transaction, k *task, runAt time.Time, follows *run) *run {
	return db.insertAs(tx, db.draw(), k, runAt, follows)
}

// draw takes an id from the sequence.
func (db *database) draw() int64 {
	db.lastRun++
	return db.lastRun
}

// insertAs is insert with an id that was drawn before.
func (db *database) insertAs(tx *transaction, id int64, k *task, runAt time.Time, follows *run) *run {
	tx.writes()
	r := &run{id: id, root: id, task: k, created: tx.at, holds: tx}
	priority := k.priority
	if follows != nil {
		r.root, r.retryOf, r.attempt = follows.root, follows.id, follows.attempt+1
		r.failures, r.recoveries = follows.failures, follows.recoveries
		priority = tx.of(follows).priority
	}
	r.draft = row{status: "PENDING", runAt: runAt, priority: priority, xid: tx.xid}
	tx.edges = append(tx.edges, &edge{run: r, to: "PENDING", at: r.created, xid: tx.xid})
	if !k.gated() && !runAt.After(db.now()) {
		r.draft.status, r.draft.untold, r.draft.available = "AVAILABLE", true, db.now()
		tx.edges = append(tx.edges, &edge{run: r, from: "PENDING", to: "AVAILABLE", at: r.draft.available, xid: tx.xid})
	}
	tx.runs = append(tx.runs, r)
	db.runs[r.id] = r
	at, _ := slices.BinarySearchFunc(db.order, r.id, func(o *run, id int64) int { return cmp.Compare(o.id, id) })
	db.order = slices.Insert(db.order, at, r)
	return r
}

// change takes a run to another status, and says so.
func (db *database) change(tx *transaction, r *run, to string) {
	v := tx.of(r)
	if !isEdge(v.status, to) {
		db.s.violated("edge %s to %s of run %d", v.status, to, r.id)
	}
	from := v.status
	if v.untold {
		tx.says = append(tx.says, r.transition(&row{}, "PENDING", "AVAILABLE"))
	}
	v.status, v.prev, v.xid, v.untold = to, from, tx.xid, false
	now := db.now()
	switch to {
	case "AVAILABLE":
		v.available = now
	case "RUNNING":
		v.started = now
	default:
		v.finished = now
	}
	tx.edges = append(tx.edges, &edge{run: r, from: from, to: to, at: now, xid: tx.xid})
	tx.says = append(tx.says, r.transition(v, from, to))
}

// touch is a new version of a run's row with the same status.
func (tx *transaction) touch(v *row) { v.prev, v.xid = "", tx.xid }

// isEdge says whether the state machine has an edge.
func isEdge(from, to string) bool {
	switch from {
	case "PENDING":
		return to == "AVAILABLE" || to == "CANCELED"
	case "AVAILABLE":
		return to == "RUNNING" || to == "CANCELED"
	case "RUNNING":
		return to == "DONE" || to == "FAILED" || to == "CANCELED"
	}
	return false
}

func (r *run) transition(v *row, from, to string) string {
	plan, replica := "null", "null"
	if r.task.plan != nil {
		plan = fmt.Sprint(r.task.plan.id)
	}
	if v.replica != "" {
		replica = `"` + v.replica + `"`
	}
	return fmt.Sprintf(`{"run_id":%d,"task_id":%d,"plan_id":%s,"from":"%s","to":"%s","attempt":%d,"replica_id":%s}`,
		r.id, r.task.id, plan, from, to, r.attempt, replica)
}

// said joins what a statement tells into a notification.
func (tx *transaction) said() {
	if len(tx.says) > 1 {
		tx.says = []string{strings.Join(tx.says, ",")}
	}
	if len(tx.says) == 1 && !strings.HasPrefix(tx.says[0], "[") {
		tx.says[0] = "[" + tx.says[0] + "]"
	}
}

// first sorts runs in the order of promotions and claims.
func first(tx *transaction, runs []*run) {
	slices.SortFunc(runs, func(a, b *run) int {
		x, y := tx.of(a), tx.of(b)
		return cmp.Or(cmp.Compare(y.priority, x.priority), x.runAt.Compare(y.runAt), cmp.Compare(a.id, b.id))
	})
}

func refusal(code string) error {
	return &pgconn.PgError{Severity: "ERROR", Code: code, Message: "simulated"}
}
