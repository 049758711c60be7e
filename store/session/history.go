package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrOldPrimary says that a server takes writes in a history that another one has gone on from.
var ErrOldPrimary = errors.New("an old primary")

// whereabouts asks a primary for its server's identity and the name of the file that it writes its log to, which begins with
// the timeline. The control file would tell the timeline of the last checkpoint, which may be minutes old after a promotion.
// Both statements are one transaction, after which the session is as it was.
const whereabouts = setPathLocally + "; SELECT s.system_identifier, CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END FROM pg_control_system() s"

type place struct {
	system   string
	timeline uint64
}

// History knows the newest timeline of each server that a process was connected to. After a failover an old primary may go
// on taking writes until it is told; whoever has seen its successor must not go back to it. The zero value is ready.
//
// A standby is on no side: it may become the primary of either.
type History struct {
	mu     sync.Mutex
	newest map[string]uint64        // by the server's identity
	open   map[*pgconn.PgConn]place // of connections; those that were closed go with the next one
	told   map[place]bool           // of refusals
	tell   func(error)
}

// Tell has the first refusal in each history told: who takes the next host gets no error. Call it before Guard.
func (h *History) Tell(of func(error)) { h.tell = of }

// Guard has the connections of config refuse an old primary, with ErrOldPrimary, and go on to the next host if there is one.
// Connections that lead to one are closed as soon as a newer timeline is seen. The way must lead to the server itself.
func (h *History) Guard(config *pgx.ConnConfig) {
	before := config.ValidateConnect
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if before != nil {
			if err := before(ctx, conn); err != nil {
				return err
			}
		}
		system, timeline, err := locate(ctx, conn)
		if err != nil || timeline == 0 {
			return err
		}
		return h.admit(conn, place{system, timeline})
	}
}

// locate returns timeline 0 where it can't be known: of a standby, or where the role may not ask.
func locate(ctx context.Context, conn *pgconn.PgConn) (system string, timeline uint64, err error) {
	results, err := conn.Exec(ctx, whereabouts).ReadAll()
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && (strings.HasPrefix(refused.Code, "42") || refused.Code == "0A000" || refused.Code == "55000"):
		return "", 0, nil
	case err != nil:
		return "", 0, fmt.Errorf("ask for the timeline: %w", err)
	}
	rows := results[len(results)-1].Rows
	if len(rows) != 1 || len(rows[0]) != 2 || len(rows[0][1]) < 8 {
		return "", 0, nil
	}
	timeline, err = strconv.ParseUint(string(rows[0][1][:8]), 16, 32)
	if err != nil {
		return "", 0, nil //nolint:nilerr // not a name of PostgreSQL's: nothing is known
	}
	return string(rows[0][0]), timeline, nil
}

// admit refuses a connection to an older timeline, and closes older ones where it leads to a newer.
func (h *History) admit(conn *pgconn.PgConn, at place) error {
	outdated, first, err := h.judge(conn, at)
	for _, old := range outdated {
		_ = old.Conn().Close() // whoever uses it notices
	}
	if first && h.tell != nil {
		h.tell(err)
	}
	return err
}

// judge says which connections are outdated now, and whether a refusal is the first of its kind.
func (h *History) judge(conn *pgconn.PgConn, at place) (outdated []*pgconn.PgConn, first bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest == nil {
		h.newest, h.open, h.told = map[string]uint64{}, map[*pgconn.PgConn]place{}, map[place]bool{}
	}
	newest := h.newest[at.system]
	if at.timeline < newest {
		first = !h.told[at]
		h.told[at] = true
		return nil, first, fmt.Errorf("%w at %s: its timeline is %d, and this process has seen %d; where that is meant (a restore), restart it",
			ErrOldPrimary, conn.Conn().RemoteAddr(), at.timeline, newest)
	}
	h.newest[at.system] = at.timeline
	for other, its := range h.open {
		select {
		case <-other.CleanupDone():
			delete(h.open, other)
			continue
		default:
		}
		if its.system == at.system && its.timeline < at.timeline {
			outdated = append(outdated, other)
			delete(h.open, other)
		}
	}
	h.open[conn] = at
	return outdated, false, nil
}
