package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Claiming says what a trip claims.
type Claiming int

// What a trip claims.
const (
	// ClaimAny claims AVAILABLE runs, the first in the order of claims: after the promotion, of which it claims too.
	ClaimAny Claiming = iota
	// ClaimFresh claims of what the trip itself promotes, in the same versions of the rows, the first in the order of
	// promotion: for a replica that knows of no other AVAILABLE run.
	ClaimFresh
	// ClaimAnyAndFresh claims AVAILABLE runs first, and for the slots that are left what the trip then promotes, as
	// ClaimFresh does.
	ClaimAnyAndFresh
	claimNothing
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
	// Below says of how many of these at most are below some priorities, ascending, the other slots being for higher ones. It goes with
	// ClaimAny alone, and claims then say their priorities. nil: nothing is said.
	Below []Below
	// Claim says which; a sweep is always ClaimAny, as is a trip that promotes nothing by itself and isn't ClaimFresh.
	Claim Claiming
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
	for tries := 0; err == nil && tries < 2 && w.missed(); tries++ {
		before := w.s.limited.Load()
		err = w.searchFurther(ctx)
		if w.s.limited.Load() == before { // otherwise that search found out that there are limits, and no more
			break
		}
	}
	return w.round, err
}

// work is a trip under way.
type work struct {
	s       *Store
	trip    *Trip
	batch   pgx.Batch
	promote Promotion
	claim   Claiming
	want    int // how many runs the search may take
	look    int // how many candidates it looks at
	most    int // how much one statement takes on
	cut     bool
	thin    bool // one run is searched for, with less of a statement
	bounded bool // the search asks bounds of the replica, or limits
	round   Round

	ends     recorded
	fills    bool // the ends of plans' runs promote what takes their slots
	alive    bool // the replica may claim
	ended    bool // as far as the ends asked
	seen     int  // candidates
	searched []Claim
	fresh    *handing
	keys     []key // of the search
	hashes   []byte
	used     int
	after    int64 // the run after which it searches
	weighed  bool  // the search says what it cost
	cost     cost
	ranks    []int32 // the priorities of searched, where Below asks for them
}

func (s *Store) newWork(t *Trip) *work {
	w := &work{s: s, trip: t, promote: t.Promote, want: t.Want, look: t.Want}
	w.fills = fillable(t.Endings) && !s.passSize.Hopeless()
	if t.Promote == PromoteNothing && !allPlain(t.Endings) && !w.fills {
		w.promote = PromoteDue // the others promote by themselves, and say whether there is more
	}
	switch {
	case t.Want <= 0:
		w.claim, w.want = claimNothing, 0
	case w.promote == PromoteSweep, w.promote == PromoteNothing && t.Claim == ClaimAnyAndFresh:
		w.claim = ClaimAny
	default:
		w.claim = t.Claim
	}
	w.thin = w.searches() && t.Want == 1
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
	if len(w.trip.Endings) > 0 {
		w.queueEndings()
	}
	if w.claim == ClaimAnyAndFresh {
		w.queueClaim()
	}
	if w.promote != PromoteNothing {
		w.queuePromotion()
	}
	if w.claim == ClaimAny {
		w.queueClaim()
	}
	err := w.pool().SendBatch(ctx, &w.batch).Close()
	w.s.passSize.Done(w.most, err)
	if err != nil {
		w.round = Round{}
		return fmt.Errorf("promote and claim: %w", err)
	}
	w.account()
	if !w.alive && !w.ended {
		return ErrDead
	}
	return nil
}

// searches says whether the trip asks for AVAILABLE runs.
func (w *work) searches() bool { return w.claim == ClaimAny || w.claim == ClaimAnyAndFresh }

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
	planned, others := []Ending(nil), t.Endings
	if w.fills {
		planned, others = byPlan(t.Endings)
		w.ends.most, w.ends.filling = w.most, &handing{args: freshArgs(t.Capabilities, nil)}
	}
	w.ends.replicaID, w.ends.limited = t.Replica, w.s.limited.Load()
	if w.claim == ClaimFresh {
		// Of each database at most one run is promoted by the end of another, and of plans most often as many as have ended. What
		// these don't take is not left to the pass: its statement is sent before theirs is answered.
		if n := min(w.want, opensDatabases(others)); n > 0 {
			w.ends.handing = w.s.hand(t.Capabilities, n)
			w.want -= n
		}
		if n := min(w.want, len(planned)); n > 0 {
			w.ends.filling = w.s.hand(t.Capabilities, n)
			w.want -= n
		}
		if w.want == 0 {
			w.claim = claimNothing
		}
	}
	fitEndings(t.Endings, w.s.holds())
	queueEndings(&w.batch, t.Endings, &w.ends)
}

func (w *work) queuePromotion() {
	// Where passes can't be made small enough, what has gates is left out: other runs and claims go on.
	gated := !w.s.passSize.Hopeless()
	switch {
	case !gated:
	case w.claim == ClaimFresh:
		w.fresh = w.s.hand(w.trip.Capabilities, w.want)
	case w.claim == ClaimAnyAndFresh:
		w.fresh = &handing{args: freshArgs(w.trip.Capabilities, w.hashes), keys: w.keys}
	}
	r := &w.round
	var next *float64
	var snapshot string
	told := []any{&w.alive, &snapshot, &r.Promoted, &r.Busy, &r.More, &next}
	promoted := func(err error) error {
		if SQLState(err) == "55P03" { // a row that somebody holds, and that no step has looked for: those without gates don't wait for it
			w.s.passSize.DoWithout()
		}
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
		w.batch.Queue(statement("promote"), w.trip.Replica, w.promote == PromoteSweep, w.most).QueryRow(func(row pgx.Row) error { return promoted(row.Scan(told...)) })
	default:
		w.batch.Queue(statement("promote_ungated"), w.trip.Replica, w.most).QueryRow(func(row pgx.Row) error { return promoted(row.Scan(told...)) })
	}
}

// queueClaim searches for AVAILABLE runs, and asks now and then what that cost.
func (w *work) queueClaim() {
	t := w.trip
	w.keys, w.hashes = w.s.keys.take(w.want)
	w.bounded = t.bounded() || w.s.limited.Load()
	if !w.bounded { // that search can't go on behind a run
		w.after = t.Capabilities.Cursor.after(time.Now())
		w.weighed = w.after == 0 && t.Capabilities.Cursor.weighs(time.Now())
	}
	w.thin = w.thin && w.after == 0 && !w.bounded
	collect := func(before ...any) func(pgx.Rows) error {
		return func(rows pgx.Rows) (err error) {
			var sure bool
			w.searched, w.used, w.seen, sure, err = collectClaims(rows, w.keys, before...)
			if w.seen < 0 { // a limit that may apply was made since
				w.s.limited.Store(true)
			}
			w.alive = w.alive || sure || w.seen == 0 // without candidates nobody was asked
			return err
		}
	}
	var from, to time.Time
	var read, readThen int64
	if w.weighed {
		w.batch.Queue(statement("entries_read")).QueryRow(func(row pgx.Row) error { return row.Scan(&read, &from) })
	}
	args := []any{t.Replica, w.hashes, seconds(t.Capabilities.DefaultTimeout), list(t.Capabilities.Queues), list(t.Capabilities.Types), list(t.Capabilities.Databases), list(t.Capabilities.Commands)}
	switch {
	case w.bounded:
		w.batch.Queue(statement("claim_runs_bounded"), w.boundedArgs()...).Query(collect(&w.ranks))
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
func (w *work) account() {
	r := &w.round
	r.Limited = w.s.limited.Load()
	unclaimed := r.Promoted - w.takeClaims()
	r.Gated = unclaimed > 0
	if w.searches() {
		r.Contended = w.cut && len(w.searched) == w.want // there may be more
		last := int64(0)
		if n := len(w.searched); n > 0 {
			last = w.searched[n-1].ID
		}
		r.rescan(w.trip.Capabilities.Cursor.found(w.after, w.weighed, w.cost, w.seen, w.look, last, time.Now()))
	}
	left := 0
	if len(w.trip.Endings) > 0 {
		r.Ended = w.ends.ended
		if plain := w.trip.Endings; len(r.Ended) < len(plain) {
			if w.fills {
				_, plain = byPlan(plain)
			}
			r.Left = unended(plain, r.Ended)
		}
		opened := append(w.s.handed(w.ends.handing), w.s.handed(w.ends.filling)...)
		r.Claims = append(opened, r.Claims...)
		r.Promoted += w.ends.opened.Promoted
		left = w.ends.opened.Promoted - len(opened)
		r.Gated = r.Gated || left > 0
		r.Marked = w.ends.opened.Marked && w.promote == PromoteNothing
	}
	for i := range r.Claims {
		r.Claims[i].Replica = w.trip.Replica
	}
	if w.claim == ClaimAny { // its search comes behind both
		left, unclaimed = left+unclaimed, 0
	}
	r.Unclaimed = unclaimed + max(0, left-len(w.searched))
}

// takeClaims has in the round what was claimed, and gives back the keys that no run has got. promoted is how many of these runs
// the promotion of this trip claimed in one version.
func (w *work) takeClaims() (promoted int) {
	r := &w.round
	for i, priority := range w.ranks {
		w.searched[i].Priority = int(priority)
	}
	r.Claims = w.searched
	switch {
	case w.fresh == nil:
	case w.claim == ClaimFresh:
		r.Claims = w.s.handed(w.fresh)
		return len(r.Claims)
	default:
		promoted = len(w.fresh.claims)
		r.Claims = append(r.Claims, w.fresh.claims...)
		w.used = max(w.used, w.fresh.used)
	}
	w.s.keys.giveBack(w.keys[w.used:])
	return promoted
}

// searchFurther looks further down the list, once, as others were at the same rows. What the trip did stands by now: where this
// fails the next trip will tell.
func (w *work) searchFurther(ctx context.Context) error {
	again := w.s.newWork(&Trip{
		Replica: w.trip.Replica, Capabilities: w.trip.Capabilities, Want: w.want - len(w.round.Claims), Below: leftBelow(w.trip.Below, w.round.Claims), Lane: w.trip.Lane,
	})
	again.trip.Capabilities.Rooms = leftRooms(w.trip.Capabilities.Rooms, w.round.Claims)
	again.look, again.thin = min(4*w.want+100, again.most), false
	err := again.do(ctx)
	w.round.Claims = append(w.round.Claims, again.round.Claims...)
	w.round.Contended = w.round.Contended || len(again.searched) < again.want && (err != nil || again.seen != len(again.searched))
	w.round.rescan(again.round.Rescan)
	if errors.Is(err, ErrDead) {
		return err
	}
	return nil
}

// missed says whether the search left runs that it could have taken, as others were at them.
func (w *work) missed() bool {
	return w.searches() && len(w.round.Claims) < w.want && (w.thin || w.seen < 0 || w.seen > len(w.searched))
}
