package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// claiming says what a pass claims.
type claiming int

const (
	claimNothing claiming = iota
	claimAny              // the first in the order of priority
	claimFresh            // what the pass itself promotes, in one version of each row
)

// Lane is the connection of a trip: those of different lanes go on side by side.
type Lane int

// The lanes.
const (
	LanePasses  Lane = iota // promotions and claims
	LaneEnds                // ends, and claims with them
	LaneBacklog             // promotions of a backlog
)

// Trip is what a replica does in one round trip, which is one transaction: it ends runs, promotes what may be promoted,
// and claims.
type Trip struct {
	Replica      string
	Capabilities Capabilities
	// Endings are ended as EndRuns does, which LockTimeout bounds, and what they open on databases is promoted, whatever
	// Promote asks for beside, but for what Round.Marked says.
	Endings     []Ending
	LockTimeout time.Duration
	Promote     Promotion
	// Want is how many runs it may claim.
	Want int
	// Fresh claims only of what the trip itself promotes, in the same versions of the rows, the first in the order of
	// promotion, without a search for others: for a replica that knows of no other AVAILABLE run.
	Fresh bool
	Lane  Lane
}

// Round is what a trip did.
type Round struct {
	Pass
	Ended []Ended
	// Left are endings that were none of the plain ones after all: for EndRuns.
	Left []Ending
}

// Work makes a trip. After an error nothing of it stands, but for ErrDead: the replica may not claim any more; what was
// ended and promoted stands.
func (s *Store) Work(ctx context.Context, t Trip) (Round, error) {
	w := s.newWork(&t)
	err := w.do(ctx)
	if err == nil && w.missed() {
		err = w.searchFurther(ctx)
	}
	return w.round, err
}

// work is a trip under way.
type work struct {
	s     *Store
	trip  *Trip
	batch pgx.Batch
	claim claiming
	want  int // how many runs the search may take
	look  int // how many candidates it looks at
	most  int // how much one statement takes on
	cut   bool
	thin  bool // one run is searched for, with less of a statement
	round Round

	ends     recorded
	alive    bool // the replica may claim
	ended    bool // as far as the ends asked
	seen     int  // candidates
	searched []Claim
	fresh    *handing
	keys     []key
	used     int
	after    int64 // the run after which it searches
	weighed  bool  // the search says what it cost
	cost     cost
}

func (s *Store) newWork(t *Trip) *work {
	w := &work{s: s, trip: t, want: t.Want, look: t.Want}
	switch {
	case t.Want <= 0:
		w.claim, w.want = claimNothing, 0
	case !t.Fresh || t.Promote == PromoteSweep:
		w.claim, w.thin = claimAny, t.Want == 1
	default:
		w.claim = claimFresh
	}
	// All of it is one transaction: whichever part ran out of time, the next one is for fewer in each.
	w.most = s.passSize.Most(fullBatch)
	w.cut = w.want > w.most
	w.want, w.look = min(w.want, w.most), min(w.look, w.most)
	if t.Capabilities.Cursor == nil {
		t.Capabilities.Cursor = &Cursor{}
	}
	return w
}

func (w *work) do(ctx context.Context) error {
	promote := w.trip.Promote
	if len(w.trip.Endings) > 0 {
		w.queueEndings()
		if promote == PromoteNothing && !allPlain(w.trip.Endings) {
			promote = PromoteDue // plain ones promote by themselves, and say whether there is more
		}
	}
	if promote != PromoteNothing {
		w.queuePromotion(promote)
	}
	if w.claim == claimAny {
		w.queueClaim()
	}
	err := w.pool().SendBatch(ctx, &w.batch).Close()
	w.s.passSize.Done(w.most, err)
	if err != nil {
		w.round = Round{}
		return fmt.Errorf("promote and claim: %w", err)
	}
	w.s.keys.giveBack(w.keys[w.used:])
	w.account(promote)
	if !w.alive && !w.ended {
		return ErrDead
	}
	return nil
}

func (w *work) pool() *pool {
	switch w.trip.Lane {
	case LaneEnds:
		return w.s.ends
	case LaneBacklog:
		return w.s.pool
	default:
		return w.s.passes
	}
}

// queueEndings ends runs, and has those on databases let others start. The replica's own row comes first in the order of locks.
func (w *work) queueEndings() {
	t := w.trip
	w.batch.Queue(statement("begin_round"), t.Replica, milliseconds(t.LockTimeout)).QueryRow(func(row pgx.Row) error { return row.Scan(nil, &w.ended) })
	if w.claim == claimFresh {
		// Of each database at most one run is promoted by the end of another. What these don't take is not left to the pass:
		// its statement is sent before theirs is answered.
		if n := min(w.want, opensDatabases(t.Endings)); n > 0 {
			w.ends.replicaID, w.ends.handing = t.Replica, w.s.hand(t.Capabilities, n)
			w.want -= n
		}
		if w.want == 0 {
			w.claim = claimNothing
		}
	}
	fitEndings(t.Endings, w.s.holds())
	queueEndings(&w.batch, t.Endings, &w.ends)
}

func (w *work) queuePromotion(promote Promotion) {
	// Where passes can't be made small enough, what has gates is left out: other runs and claims go on.
	gated := !w.s.passSize.Hopeless()
	if w.claim == claimFresh && gated {
		w.fresh = w.s.hand(w.trip.Capabilities, w.want)
	}
	r := &w.round
	var next *float64
	var snapshot string
	told := []any{&w.alive, &snapshot, &r.Promoted, &r.Busy, &r.More, &next}
	promoted := func(err error) error {
		if err != nil {
			return err
		}
		r.due(next)
		r.InFlight, err = parseSnapshot(snapshot)
		return err
	}
	switch {
	case w.fresh != nil:
		w.batch.Queue(statement("promote_and_claim"), append([]any{w.trip.Replica, w.most}, w.fresh.args...)...).Query(func(rows pgx.Rows) error {
			return promoted(w.fresh.collect(rows, told...))
		})
	case gated:
		w.batch.Queue(statement("promote"), w.trip.Replica, promote == PromoteSweep, w.most).QueryRow(func(row pgx.Row) error { return promoted(row.Scan(told...)) })
	default:
		w.batch.Queue(statement("promote_ungated"), w.trip.Replica, w.most).QueryRow(func(row pgx.Row) error { return promoted(row.Scan(told...)) })
	}
}

// queueClaim searches for AVAILABLE runs, and asks now and then what that cost.
func (w *work) queueClaim() {
	t := w.trip
	var hashes []byte
	w.keys, hashes = w.s.keys.take(w.want)
	w.after = t.Capabilities.Cursor.after(time.Now())
	w.weighed = w.after == 0 && t.Capabilities.Cursor.weighs(time.Now())
	w.thin = w.thin && w.after == 0
	collect := func(before ...any) func(pgx.Rows) error {
		return func(rows pgx.Rows) (err error) {
			var sure bool
			w.searched, w.used, w.seen, sure, err = collectClaims(rows, w.keys, before...)
			w.alive = w.alive || sure || w.seen == 0 // without candidates nobody was asked
			return err
		}
	}
	var from, to time.Time
	var read, readThen int64
	if w.weighed {
		w.batch.Queue(statement("entries_read")).QueryRow(func(row pgx.Row) error { return row.Scan(&read, &from) })
	}
	args := []any{t.Replica, hashes, seconds(t.Capabilities.DefaultTimeout), list(t.Capabilities.Queues), list(t.Capabilities.Types), list(t.Capabilities.Databases), list(t.Capabilities.Commands)}
	switch {
	case w.after != 0:
		w.batch.Queue(statement("claim_runs_after"), append(args, w.look, w.want, w.after)...).Query(collect())
	case w.thin:
		w.batch.Queue(statement("claim_run"), args...).Query(collect(nil))
	default:
		w.batch.Queue(statement("claim_runs"), append(args, w.look, w.want)...).Query(collect())
	}
	if w.weighed {
		w.batch.Queue(statement("entries_read")).QueryRow(func(row pgx.Row) error {
			err := row.Scan(&readThen, &to)
			w.cost = cost{took: to.Sub(from), read: readThen - read}
			return err
		})
	}
}

// account says in the round what the statements answered.
func (w *work) account(promote Promotion) {
	r := &w.round
	r.Claims = w.searched
	if w.fresh != nil {
		r.Claims = w.s.handed(w.fresh)
	}
	r.Gated = r.Promoted > 0 && (w.fresh == nil || r.Promoted > len(r.Claims))
	if w.claim == claimAny {
		r.Contended = w.cut && len(r.Claims) == w.want // there may be more
		last := int64(0)
		if n := len(w.searched); n > 0 {
			last = w.searched[n-1].ID
		}
		r.rescan(w.trip.Capabilities.Cursor.found(w.after, w.weighed, w.cost, w.seen, w.look, last, time.Now()))
	}
	if len(w.trip.Endings) == 0 {
		return
	}
	r.Ended = w.ends.ended
	r.Left = unended(w.trip.Endings, r.Ended)
	r.Promoted += w.ends.opened.Promoted
	opened := w.s.handed(w.ends.handing)
	r.Claims = append(opened, r.Claims...)
	r.Gated = r.Gated || w.ends.opened.Promoted > len(opened)
	r.Marked = w.ends.opened.Marked && promote == PromoteNothing
}

// searchFurther looks further down the list, once, as others were at the same rows. What the trip did stands by now: where this
// fails the next trip will tell.
func (w *work) searchFurther(ctx context.Context) error {
	again := w.s.newWork(&Trip{Replica: w.trip.Replica, Capabilities: w.trip.Capabilities, Want: w.want - len(w.searched), Lane: w.trip.Lane})
	again.look, again.thin = min(4*w.want+100, again.most), false
	err := again.do(ctx)
	w.round.Claims = append(w.round.Claims, again.round.Claims...)
	w.round.Contended = w.round.Contended || len(again.searched) < again.want && (err != nil || again.seen > len(again.searched))
	w.round.rescan(again.round.Rescan)
	if errors.Is(err, ErrDead) {
		return err
	}
	return nil
}

// missed says whether the search left runs that it could have taken, as others were at them.
func (w *work) missed() bool {
	return w.claim == claimAny && len(w.searched) < w.want && (w.thin || w.seen > len(w.searched))
}
