package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowrun/rowrun/store"
)

// streamTables are what the database holds for the stream.
type streamTables struct {
	lock      *session // whose session has the lock of who writes
	writer    string   // rowrun.deployment.stream_replica_id
	positions map[int64]store.StreamPosition
	left      map[string]*store.StreamHandover
}

func newStreamTables() streamTables {
	return streamTables{positions: map[int64]store.StreamPosition{}, left: map[string]*store.StreamHandover{}}
}

// ended frees the lock with its session.
func (t *streamTables) ended(s *session) {
	if t.lock == s {
		t.lock = nil
		s.db.s.told.lost(s)
	}
}

// claimStream is store.ClaimStream's first statement.
func (s *session) claimStream() (held, writer string) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	t := &s.db.stream
	switch {
	case s.closed:
		return "f", t.writer
	case t.lock == s:
		s.db.s.violated("replica %d asks for the stream's lock that it has", s.process.index)
	case t.lock != nil:
		s.db.s.count("stream: written by another replica")
		return "f", t.writer
	}
	t.lock = s
	s.db.s.count("stream: lock taken")
	return "t", t.writer
}

func (s *session) nameStreamWriter(replica string) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if !s.closed {
		s.db.stream.writer = replica
	}
}

func (s *session) releaseStream() {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if s.db.stream.lock == s {
		s.db.stream.lock = nil
	}
}

// snapshot is pg_current_snapshot: it ends behind the last transaction that has ended, and names none from there on.
func (db *database) snapshot() (xmin, xmax uint64, text string) {
	xmax = db.lastEnded + 1
	xmin = xmax
	var open []uint64
	for _, tx := range db.open {
		if tx.xid != 0 && tx.xid < xmax {
			open = append(open, tx.xid)
			xmin = min(xmin, tx.xid)
		}
	}
	slices.Sort(open)
	names := make([]string, len(open))
	for i, xid := range open {
		names[i] = strconv.FormatUint(xid, 10)
	}
	return xmin, xmax, fmt.Sprintf("%d:%d:%s", xmin, xmax, strings.Join(names, ","))
}

func (db *database) streamPoint() store.StreamPoint {
	_, _, text := db.snapshot()
	return store.StreamPoint{At: db.now(), Snapshot: text}
}

// streamRow is what the stream is told of a run as all see it.
func (r *run) streamRow() store.StreamRow {
	v := &r.row
	row := store.StreamRow{
		ID: r.id, RootID: r.root, TaskID: r.task.id, TaskName: "simulated", Type: r.task.kind, Queue: "default", Attempt: r.attempt,
		CreatedAt: r.created, AvailableAt: v.available, StartedAt: v.started, FinishedAt: v.finished, Status: v.status, Prev: v.prev, Xid: v.xid,
	}
	if r.task.plan != nil {
		row.PlanID = &r.task.plan.id
	}
	if r.retryOf != 0 {
		row.RetryOf = &r.retryOf
	}
	if replica := v.replica; replica != "" {
		row.ReplicaID = &replica
	}
	if next := v.retryRun; next != 0 {
		row.RetryRunID = &next
	}
	return row
}

// streamStart is where a reader of the stream begins.
func (db *database) streamStart() store.StreamStart {
	point := db.streamPoint()
	start := store.StreamStart{Now: point.At, Snapshot: point.Snapshot, Last: map[int64]string{}}
	for _, r := range db.order {
		if !r.seen {
			continue
		}
		if r.id > start.High+1 {
			start.Gaps = append(start.Gaps, store.Span{Low: start.High + 1, High: r.id - 1})
		}
		start.High = r.id
		start.Last[r.id] = r.status
	}
	return start
}

// streamInserts reads ranges of ids.
func (db *database) streamInserts(ranges []store.Span, limit int) store.StreamInserts {
	xmin, _, text := db.snapshot()
	found := store.StreamInserts{
		Xmin: xmin, Next: db.lastXid + 1, Point: store.StreamPoint{At: db.now(), Snapshot: text},
	}
	for _, span := range ranges {
		at, _ := slices.BinarySearchFunc(db.order, span.Low, func(r *run, id int64) int { return cmp.Compare(r.id, id) })
		for n := 0; at < len(db.order) && db.order[at].id <= span.High && n < limit; at++ {
			if r := db.order[at]; r.seen {
				if r.id < db.s.told.highest {
					db.s.count("stream: run found behind later ones")
				}
				found.Rows = append(found.Rows, r.streamRow())
				n++
			}
		}
	}
	return found
}

// streamHistory are the transitions since a point that rows tell of, as stream_history.sql finds them.
func (db *database) streamHistory(point *store.StreamPoint) ([]store.StreamPast, error) {
	seen, err := store.ParseSeen(point.Snapshot)
	if err != nil {
		return nil, err
	}
	type placed struct {
		store.StreamPast
		place time.Time
	}
	var found []placed
	since := point.At.Add(-500 * time.Millisecond)
	for _, r := range db.order {
		if !r.seen {
			continue
		}
		if shown, _ := seen.Shows(r.xid); shown {
			continue
		}
		from, place := "", time.Time{}
		for i, at := range [...]time.Time{r.created, r.available, r.started, r.finished} {
			to := [...]string{"PENDING", "AVAILABLE", "RUNNING", r.status}[i]
			if at.After(place) {
				place = at
			}
			if at.IsZero() {
				continue
			}
			newest := to == r.status && (r.prev != "" || i == 0) || i == 1 && r.status == "RUNNING" && r.prev == "PENDING" ||
				i <= 1 && r.status == "AVAILABLE" && r.untold
			if !at.Before(since) || newest {
				past := store.StreamPast{StreamRow: r.streamRow(), From: from, To: to}
				if i >= 2 {
					past.ReplicaID = past.StreamRow.ReplicaID
				}
				found = append(found, placed{past, place})
			}
			from = to
		}
	}
	slices.SortStableFunc(found, func(a, b placed) int { return cmp.Or(a.place.Compare(b.place), cmp.Compare(a.ID, b.ID)) })
	past := make([]store.StreamPast, len(found))
	for i := range found {
		past[i] = found[i].StreamPast
	}
	return past, nil
}

// lastPosition is that of the newest second.
func (t *streamTables) lastPosition() *store.StreamPosition {
	var last *store.StreamPosition
	newest := int64(0)
	for second, p := range t.positions {
		if last == nil || second > newest {
			newest, last = second, &p
		}
	}
	return last
}

// history is the server's copy of one, read page by page.
type history struct {
	c    *client
	rest []store.StreamPast
}

func (h *history) Next(ctx context.Context, n int) ([]store.StreamPast, error) {
	return call(ctx, h.c, "StreamHistory", "pool", func(context.Context, *transaction, *dice) ([]store.StreamPast, error) {
		page := h.rest[:min(n, len(h.rest))]
		h.rest = h.rest[len(page):]
		return page, nil
	})
}

func (h *history) Close(ctx context.Context) {
	_ = h.c.do(ctx, "CloseHistory", "pool", func(context.Context, *transaction) error { return nil })
}
