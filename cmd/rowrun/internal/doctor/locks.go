package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
	"github.com/rowrun/rowrun/store/session"
)

const (
	// lockPatience is how long a session may hold a lock that doctor names it for.
	lockPatience = 1500 * time.Millisecond
	// blockedPatience is how long a check may take once it is known that answers don't come.
	blockedPatience = 2 * time.Second
	// lostPatience is how long a question that no lock of a table's holds up may take.
	lostPatience = 10 * time.Second
)

// locker holds one of our tables so that others can't read or can't write it.
type locker struct {
	PID     int64  // 0: a prepared transaction
	Who     string // role and program, or the prepared transaction's name
	Table   string // the first of them
	More    int64  // how many besides
	Reading bool   // it can't be read either
}

func (l *locker) fix() string {
	if l.PID == 0 {
		return "ROLLBACK PREPARED " + quoteLiteral(l.Who) + "; -- or COMMIT PREPARED"
	}
	return "SELECT pg_terminate_backend(" + strconv.FormatInt(l.PID, 10) + ");"
}

func (l *locker) text() string {
	who := "session " + strconv.FormatInt(l.PID, 10) + " of " + l.Who
	if l.PID == 0 {
		who = "the prepared transaction " + l.Who
	}
	tables := l.Table
	if l.More > 0 {
		tables += fmt.Sprintf(" and %d more", l.More)
	}
	if l.Reading {
		return who + " has locked " + tables + ": replicas stand still, and what doctor asks of it has no answer"
	}
	return who + " has locked " + tables + " for who writes: replicas stand still"
}

// readLockers asks for nothing that a lock on our tables could keep from it: who holds one, and in which mode.
func (d *doctor) readLockers(ctx context.Context) (found []locker, err error) {
	config, err := connect.Parse(d.Database.DirectURL)
	if err != nil {
		return nil, err
	}
	session.Encode(config)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // through a pooler a statement may meet another session
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	defer connect.Close(ctx, conn)
	const q = `-- doctor_lockers
SELECT coalesce(l.pid, 0)::bigint, coalesce(p.gid, coalesce(a.usename, '?') || coalesce(' (' || nullif(a.application_name, '') || ')', '')),
       min('rowrun.' || c.relname), count(DISTINCT c.oid) - 1, bool_or(l.mode = 'AccessExclusiveLock')
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_stat_activity a ON a.pid = l.pid
LEFT JOIN pg_locks x ON l.pid IS NULL AND x.pid IS NULL AND x.virtualtransaction = l.virtualtransaction AND x.locktype = 'transactionid'
LEFT JOIN pg_prepared_xacts p ON p.transaction = x.transactionid
WHERE l.locktype = 'relation' AND l.granted AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
  AND l.database = (SELECT o.oid FROM pg_database o WHERE o.datname = current_database()) AND n.nspname = 'rowrun' AND c.relkind = 'r'
  AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 20`
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: session.Begin(pgx.TxOptions{})}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, q)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, pgx.RowToStructByPos[locker])
		return err
	})
	return found, err
}

// checkLockers names who has locked our tables, before anything is asked of these: a check that waits for such a lock has no
// answer and can't say why. Where there is one the others are given up sooner.
func (d *doctor) checkLockers(ctx context.Context) error {
	found, err := d.readLockers(ctx)
	if err != nil || len(found) == 0 {
		return err
	}
	if err := pauseBetweenLooks(ctx); err != nil {
		return err
	}
	again, err := d.readLockers(ctx)
	if err != nil {
		return err
	}
	for i := range again {
		l := &again[i]
		same := func(other locker) bool { return other.PID == l.PID && other.Who == l.Who }
		if !slices.ContainsFunc(found, same) || slices.ContainsFunc(d.lockers, same) {
			continue
		}
		d.lockers = append(d.lockers, *l)
		d.add("locks", Warning, l.text(), l.fix())
		if l.Reading {
			d.patience = blockedPatience
		}
	}
	return nil
}

// unanswered says that a check had no answer, and goes on if the database has answers at all. The next checks get less time: what
// kept this one waiting most likely keeps them, and a person waits for all of it.
func (d *doctor) unanswered(ctx context.Context, c check, err error) error {
	late := errors.Is(err, context.DeadlineExceeded)
	if late {
		d.patience = blockedPatience
	}
	ask, cancel := context.WithTimeout(ctx, lostPatience)
	defer cancel()
	lost := d.checkLockers(ask)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case lost != nil && store.SQLState(lost) == "":
		return err
	case late:
		d.add(c.name, Warning, "could not be looked at: there was no answer in time", "rowrun doctor  # again, once what keeps the tables locked is gone, or the server has less to do")
	default:
		d.add(c.name, Warning, "could not be looked at: "+database.InWords(err).Error(), "rowrun doctor  # again")
	}
	return nil
}

// checkLocks names sessions that hold what replicas go without: what two looks find is no lock of a moment.
func (d *doctor) checkLocks(ctx context.Context) error {
	found, err := d.store.HoldUps(ctx)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		if err := pauseBetweenLooks(ctx); err != nil {
			return err
		}
		again, err := d.store.HoldUps(ctx)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(again, func(h store.HoldUp) bool {
			return !slices.ContainsFunc(found, func(f store.HoldUp) bool { return f.PID == h.PID && f.User == h.User })
		})
	}
	for _, h := range found {
		d.add("locks", Warning, h.Who()+" "+h.What, h.End()+";")
	}
	if len(found) == 0 && len(d.lockers) == 0 {
		d.add("locks", Fine, "no session holds a lock that replicas go without", "")
	}
	return nil
}

// pauseBetweenLooks waits until a lock of a moment would be gone.
func pauseBetweenLooks(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(lockPatience):
		return nil
	}
}
