package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Wants says which runs a replica can take.
type Wants struct {
	Queues         []string
	Types          []string
	Databases      []string
	Commands       []string
	DefaultTimeout time.Duration // of runs whose task has none; 0: none
	// Searches are where searches begin; nil: each at the first run.
	Searches *Searches
}

// Pass is what one round trip did.
type Pass struct {
	Promoted int
	// Busy: another replica was promoting; look again in some ms.
	Busy bool
	// More: there is more to promote now.
	More bool
	// Gated: some of what was promoted may have waited long, and come before others in the order of claims.
	Gated bool
	// Marked: ends have left marks for the next pass.
	Marked bool
	// Contended: claims were lost to other replicas while runs may be left.
	Contended bool
	// NextDue is when the next PENDING run is due, 0: none is known.
	NextDue time.Duration
	// Behind is when to look for runs that searches have gone past, 0: they haven't.
	Behind time.Duration
	// Unseen are the transactions that the pass can't have seen; zero where it only claimed.
	Unseen Unseen
	Claims []Claim
}

// Promotion says what a pass promotes before it claims.
type Promotion int

// What a pass promotes.
const (
	PromoteNothing Promotion = iota // only claim: a slot became free
	PromoteDue                      // what is due and what the marks name
	PromoteSweep                    // and everything that could have been overlooked
)

// claiming says what a pass claims.
type claiming int

const (
	claimNothing claiming = iota
	claimAny              // the first in the order of priority
	claimFresh            // what the pass itself promotes, in one version of each row
)

// Work promotes what may be promoted and claims up to want runs for a replica, in one transaction and one round trip.
// ErrDead: the replica may not claim any more; what was promoted stands.
func (s *Store) Work(ctx context.Context, replicaID string, w Wants, promote Promotion, want int) (Pass, error) {
	claim := claimAny
	if want <= 0 {
		claim = claimNothing
	}
	pass, found, err := s.workOn(ctx, s.passes, replicaID, w, promote, claim, want, want)
	if err == nil && found > len(pass.Claims) && len(pass.Claims) < want {
		// Others were at the same rows: look further down the list, once.
		var again Pass
		again, _, err = s.workOn(ctx, s.passes, replicaID, w, PromoteNothing, claimAny, want-len(pass.Claims), 4*want+100)
		pass.Claims = append(pass.Claims, again.Claims...)
		pass.Contended = pass.Contended || len(pass.Claims) < want
	}
	return pass, err
}

// WorkPromoted promotes what is due and claims of that, in the same versions of the rows, the first want runs in the order
// of promotion that the replica can take, without a search for others: for a replica that knows of no other AVAILABLE run.
func (s *Store) WorkPromoted(ctx context.Context, replicaID string, w Wants, want int) (Pass, error) {
	pass, _, err := s.workOn(ctx, s.passes, replicaID, w, PromoteDue, claimFresh, want, want)
	return pass, err
}

// Promote is Work without the claims, on another connection: for a backlog, so that promoting it and claiming what was
// promoted go on side by side.
func (s *Store) Promote(ctx context.Context, replicaID string, searches *Searches) (Pass, error) {
	pass, _, err := s.workOn(ctx, s.pool, replicaID, Wants{Searches: searches}, PromoteDue, claimNothing, 0, 0)
	return pass, err
}

// Round is what one round trip did that also ended runs.
type Round struct {
	Pass
	Ended []Ended
	// Left are endings that were none of EndAndWork's plain ones after all: for EndRuns.
	Left []Ending
}

// EndAndWork ends runs, promotes what they may have opened and claims, in one transaction and one round trip: what a
// replica does when runs end that others may wait for. It ends what EndRuns would, and promotes what that opens
// whatever promote asks for beside, but for what Marked says; it claims as Work does, or with fresh as WorkPromoted. After an error nothing of it stands, but for ErrDead: what
// was ended and promoted does.
func (s *Store) EndAndWork(ctx context.Context, replicaID string, endings []Ending, lockTimeout time.Duration, w Wants, promote Promotion, fresh bool, want int) (Round, error) {
	claim := claimAny
	switch {
	case want <= 0:
		claim = claimNothing
	case fresh && promote != PromoteSweep:
		claim = claimFresh
	}
	var r Round
	alive := false
	b := &pgx.Batch{}
	// The replica's own row comes first in the order of locks.
	b.Queue(statement("begin_round"), replicaID, milliseconds(lockTimeout)).QueryRow(func(row pgx.Row) error { return row.Scan(nil, &alive) })
	var ends recorded
	if claim == claimFresh {
		// Of each database at most one run is promoted by the end of another. What these don't take is not left to the pass:
		// its statement is sent before theirs is answered.
		if n := min(want, opensDatabases(endings)); n > 0 {
			ends.replicaID, ends.handing = replicaID, s.hand(w, n)
			want -= n
		}
		if want == 0 {
			claim = claimNothing
		}
	}
	fitEndings(endings, s.holds())
	queueEndings(b, endings, &ends)
	if promote == PromoteNothing && !allPlain(endings) {
		promote = PromoteDue // plain ones promote by themselves, and say whether there is more
	}
	if promote == PromoteNothing && claim == claimFresh {
		claim = claimNothing
	}
	var seen int
	var err error
	r.Pass, seen, err = s.workIn(ctx, b, s.passes, replicaID, w, promote, claim, want, want)
	if err != nil && !errors.Is(err, ErrDead) {
		return Round{Pass: r.Pass}, err
	}
	r.Ended = ends.ended
	r.Left = unended(endings, r.Ended)
	r.Promoted += ends.opened.Promoted
	opened := s.handed(ends.handing)
	r.Claims = append(opened, r.Claims...)
	r.Gated = r.Gated || ends.opened.Promoted > len(opened)
	r.Marked = ends.opened.Marked && promote == PromoteNothing
	r.Contended = r.Contended || claim == claimAny && seen > len(r.Claims) && len(r.Claims) < want
	if alive {
		err = nil
	}
	return r, err
}

func (s *Store) workOn(ctx context.Context, pool *pool, replicaID string, w Wants, promote Promotion, claim claiming, want, look int) (pass Pass, seen int, err error) {
	return s.workIn(ctx, &pgx.Batch{}, pool, replicaID, w, promote, claim, want, look)
}

// workIn adds the pass to a batch, and sends that.
func (s *Store) workIn(ctx context.Context, b *pgx.Batch, pool *pool, replicaID string, w Wants, promote Promotion, claim claiming, want, look int) (pass Pass, seen int, err error) {
	alive, gated := false, true
	if w.Searches == nil {
		w.Searches = &Searches{}
	}
	// All of it is one transaction: whichever part ran out of time, the next pass is for fewer in each.
	most := s.passSize.Most(fullBatch)
	if s.passSize.Hopeless() && promote != PromoteNothing {
		gated = false // what has gates is left out of this one: other runs and claims go on
	}
	cut := want > most
	want, look = min(want, most), min(look, max(most, want))
	var fresh *handing
	if claim == claimFresh && gated {
		fresh = s.hand(w, want)
	}
	if promote != PromoteNothing {
		var next *float64
		var snapshot string
		told := []any{&alive, &snapshot, &pass.Promoted, &pass.Busy, &pass.More, &next}
		promoted := func(err error) error {
			if err != nil {
				return err
			}
			pass.due(next)
			pass.Unseen, err = parseSnapshot(snapshot)
			return err
		}
		q, args := statement("promote"), []any{replicaID, promote == PromoteSweep, most}
		if !gated {
			q, args = statement("promote_ungated"), []any{replicaID, most}
		}
		if fresh != nil {
			b.Queue(statement("promote_and_claim"), append([]any{replicaID, most}, fresh.args...)...).Query(func(rows pgx.Rows) error {
				return promoted(fresh.collect(rows, told...))
			})
		} else {
			b.Queue(q, args...).QueryRow(func(row pgx.Row) error { return promoted(row.Scan(told...)) })
		}
	}
	if claim != claimAny {
		want = 0
	}
	keys, hashes := s.keys.take(want)
	used := 0
	search := &w.Searches.available
	behind, weighed := search.from(time.Now()), search.weighs(time.Now())
	collect := func(rows pgx.Rows) error {
		var sure bool
		var err error
		var c cost
		pass.Claims, used, seen, sure, c, err = collectClaims(rows, keys)
		alive = alive || sure || seen == 0 // without candidates nobody was asked
		if err == nil {
			last := int64(0)
			if n := len(pass.Claims); n > 0 {
				last = pass.Claims[n-1].ID
			}
			pass.behind(search.found(behind, weighed, c, seen, look, last, time.Now()))
		}
		return err
	}
	args := []any{replicaID, hashes, seconds(w.DefaultTimeout), list(w.Queues), list(w.Types), list(w.Databases), list(w.Commands)}
	if claim == claimAny {
		if behind != 0 {
			b.Queue(statement("claim_runs_behind"), append(args, look, want, behind)...).Query(collect)
		} else {
			b.Queue(statement("claim_runs"), append(args, look, want, weighed)...).Query(collect)
		}
	}
	err = pool.SendBatch(ctx, b).Close()
	s.passSize.Done(most, err)
	if err != nil {
		return Pass{}, 0, fmt.Errorf("promote and claim: %w", err)
	}
	pass.Contended = cut && len(pass.Claims) == want && claim == claimAny // there may be more
	s.keys.giveBack(keys[used:])
	if fresh != nil {
		pass.Claims = s.handed(fresh)
	}
	pass.Gated = pass.Promoted > 0 && (fresh == nil || pass.Promoted > len(pass.Claims))
	if !alive {
		return pass, seen, ErrDead
	}
	return pass, seen, nil
}

// behind notes when to look for runs that a search has gone past.
func (p *Pass) behind(d time.Duration) {
	if d > 0 && (p.Behind == 0 || d < p.Behind) {
		p.Behind = d
	}
}

// due notes when the next PENDING run is due, in ms from now.
func (p *Pass) due(ms *float64) {
	if ms == nil {
		return
	}
	if d := time.Duration(min(*ms, 1e9) * float64(time.Millisecond)); p.NextDue == 0 || d < p.NextDue {
		p.NextDue = max(d, time.Microsecond)
	}
}
