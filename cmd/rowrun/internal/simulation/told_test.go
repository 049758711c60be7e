package simulation

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rowrun/rowrun/store"
)

// edge is a change of status of a run.
type edge struct {
	run      *run
	from, to string
	at       time.Time // as the row has it, by the database's clock
	xid      uint64
	done     time.Time // when it was committed
	// late: rows alone may not tell it behind a gap, as its time lies before that.
	late bool
	// unheard: who writes the stream was not told of it, and could not know.
	unheard bool
	told    int // how many lines said it
}

func rankOf(status string) int {
	switch status {
	case "PENDING":
		return 1
	case "AVAILABLE":
		return 2
	case "RUNNING":
		return 3
	}
	return 4
}

// told knows what was written of the stream, and judges it. It is guarded by mu of the simulation's database.
type told struct {
	s       *sim
	highest int64                  // of the runs that were told
	ranks   map[int64]int          // how far, by whomever
	breaks  int                    // gaps, and hand-overs between writers
	last    *output                // who wrote last
	begun   bool                   // a reader has begun, with what is committed from a moment on:
	seen    store.Seen             // what had been committed then
	clock   time.Time              // the latest time of the database's clock before it was set back
	ended   map[*process]time.Time // when the server ended the session that had the lock
	// opens is when a replica last read rows as a whole, which stand in the order of their times.
	opens map[*process]time.Time
	// unknown are the replicas that asked for the last position when there was none.
	unknown map[*process]bool
}

func newTold(s *sim) *told {
	return &told{s: s, ranks: map[int64]int{}, ended: map[*process]time.Time{}, opens: map[*process]time.Time{}, unknown: map[*process]bool{}}
}

// committed takes in what a transaction has changed. heard: who writes the stream is told of it.
func (t *told) committed(tx *transaction, heard bool) {
	now, clock := time.Now(), t.s.db.now()
	for _, e := range tx.edges {
		e.done, e.unheard = now, !heard
		took := clock.Sub(e.at)
		e.late = took > 400*time.Millisecond || took < -400*time.Millisecond || e.at.Before(t.clock)
		if so := e.run.edges; !heard && len(so) == 2 && so[1].to == "AVAILABLE" && so[1].xid == so[0].xid {
			so[1].unheard = true // it was to be announced with this one
		}
		e.run.edges = append(e.run.edges, e)
	}
}

// stepped is told the time before the clock is set.
func (t *told) stepped(now time.Time) {
	if now.After(t.clock) {
		t.clock = now
	}
}

// opened is told that a reader begins with what is committed from now on. It may do so where none has written before, as far as it
// was told when it asked.
func (t *told) opened(p *process, snapshot string) {
	if len(t.s.db.stream.positions) > 0 && !t.unknown[p] {
		t.s.count("stream: begun anew though a position was known")
		return
	}
	t.seen, _ = store.ParseSeen(snapshot)
	t.begun = true
}

// lost is told that a session has ended that had the lock.
func (t *told) lost(s *session) {
	if !s.left {
		t.ended[s.process] = time.Now()
		t.s.count("stream: writer's session ended by the server")
	}
}

// noticed is how long a writer may go on whose session the server has ended: a ping comes after 5 s, and waits for 2.
const noticed = 8 * time.Second

// holds says whether a replica has the lock.
func (t *told) holds(p *process) bool {
	holder := t.s.db.stream.lock
	return holder != nil && holder.process == p && !holder.left
}

// mayWrite says whether a replica may write now: it has the lock, or can't know yet that it doesn't.
func (t *told) mayWrite(p *process) bool {
	db := t.s.db
	db.mu.Lock()
	defer db.mu.Unlock()
	if t.holds(p) {
		return true
	}
	ended, was := t.ended[p]
	if was && (time.Since(ended) < noticed || p.frozen.since(ended)) || p.frozen.since(time.Now().Add(-noticed)) {
		t.s.count("stream: written by one that doesn't know that its session ended")
		return true
	}
	return false
}

// forgets is told that a write has failed: who it was of begins anew.
func (t *told) forgets(o *output) {
	t.s.db.mu.Lock()
	defer t.s.db.mu.Unlock()
	o.gap, o.ranks = false, map[int64]int{}
}

// written judges lines.
func (t *told) written(o *output, lines []byte, mayWrite bool) {
	t.s.db.mu.Lock()
	defer t.s.db.mu.Unlock()
	if !mayWrite {
		t.s.violated("replica %d writes the stream without its lock", o.process.index)
	}
	held := t.holds(o.process)
	if !held {
		t.s.count("stream: written when the lock was lost")
	}
	if t.last != nil && t.last != o {
		t.breaks++
	}
	t.last = o
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte("\n"))
		if t.s.logs {
			t.s.say("stream of replica %d: %s", o.process.index, line)
		}
		if event := member(line, "event"); event == "stream.gap" {
			t.gap(o, member(line, "reason"))
			continue
		}
		id, _ := strconv.ParseInt(member(line, "run_id"), 10, 64)
		t.line(o, id, member(line, "from"), member(line, "to"), held)
	}
}

// member is one of a line, as zerolog writes it.
func member(line []byte, name string) string {
	at := bytes.Index(line, []byte(`"`+name+`":`))
	if at < 0 {
		return ""
	}
	line = line[at+len(name)+3:]
	if line[0] == '"' {
		line = line[1:]
		return string(line[:bytes.IndexByte(line, '"')])
	}
	return string(line[:bytes.IndexAny(line, ",}")])
}

func (t *told) gap(o *output, reason string) {
	t.s.count("stream: gap: " + reason)
	t.breaks++
	o.gap = true
	if !strings.HasPrefix(reason, "connection lost") { // a new reader, behind another writer
		o.ranks = map[int64]int{}
	}
	if t.s.quiet {
		t.s.violated("gap in a quiet schedule: %s", reason)
	}
}

// line judges the line of a transition.
func (t *told) line(o *output, id int64, from, to string, held bool) {
	if from == "null" {
		from = ""
	}
	r, rank := t.s.db.runs[id], rankOf(to)
	var e *edge
	if r != nil {
		for _, one := range r.edges {
			if one.from == from && one.to == to {
				e = one
			}
		}
	}
	switch {
	case e == nil:
		t.s.violated("the stream says what has not happened: run %d from %q to %s", id, from, to)
		return
	case o.ranks[id] >= rank:
		t.s.violated("replica %d says run %d to %s behind rank %d, which it has said", o.process.index, id, to, o.ranks[id])
	case t.ranks[id] >= rank && !o.gap && held && t.s.back == 0: // under a clock that was set back rows seem newer than they are
		t.s.violated("replica %d says run %d to %s behind rank %d, and no gap", o.process.index, id, to, t.ranks[id])
	case t.s.quiet && t.covered(e) && time.Since(e.done) > 6*time.Second:
		t.s.violated("run %d to %s is told %s after its commit", id, to, time.Since(e.done))
	}
	if e.told++; e.told > 1 {
		t.s.count("stream: line told again")
	}
	if rank == 1 {
		t.follows(o, r)
	}
	o.ranks[id], t.ranks[id] = rank, max(rank, t.ranks[id])
	t.highest = max(t.highest, id)
}

// follows judges that a successor comes behind the end that it follows, which is waited for for a second.
func (t *told) follows(o *output, r *run) {
	if r.retryOf == 0 || o.gap {
		return
	}
	before := t.s.db.runs[r.retryOf].edges
	if before[0].told == 0 { // its insert comes late, with its first transition
		return
	}
	for _, e := range before {
		if rankOf(e.to) == 4 && e.told == 0 && !e.unheard && t.covered(e) && time.Since(e.done) < time.Second && e.done.After(t.opens[o.process]) {
			t.s.violated("run %d is told before the end of run %d, which it follows", r.id, r.retryOf)
		}
	}
}

// covered says whether a transition is to be told: it was committed after the first reader began.
func (t *told) covered(e *edge) bool {
	if !t.begun {
		return false
	}
	shown, _ := t.seen.Shows(e.xid)
	return !shown
}

// missing names a transition that was not told, and that rows or notifications must have told; "": there is none.
func (t *told) missing() string {
	db := t.s.db
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, r := range db.order {
		for _, e := range r.edges {
			if e.told > 0 || e.unheard || !t.covered(e) || e.late && t.breaks > 0 {
				continue
			}
			return fmt.Sprintf("run %d from %q to %s, of transaction %d, at %s", r.id, e.from, e.to, e.xid, e.done.Sub(t.s.began))
		}
	}
	return ""
}

// await gives the stream the time to tell what has happened, after the faults.
func (t *told) await(ctx context.Context) {
	limit := 8 * time.Second
	if !t.s.quiet {
		limit = 100 * time.Second
	}
	for end := time.Now().Add(limit); t.missing() != "" && time.Now().Before(end); {
		_ = pause(ctx, 250*time.Millisecond)
	}
	if left := t.missing(); left != "" {
		t.s.violated("not told: %s", left)
	}
}

// judge is the last word.
func (t *told) judge() {
	t.s.db.mu.Lock()
	begun := t.begun
	t.s.db.mu.Unlock()
	if !begun {
		t.s.count("stream: never begun")
	}
	if left := t.missing(); left != "" {
		t.s.violated("not told in the end: %s", left)
	}
}
