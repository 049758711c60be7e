package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rowrun/rowrun/store"
)

const (
	// Dead rows beyond both of these slow every look for work.
	manyDead  = 100000
	deadShare = 2 // dead rows per live one
	// A slot that is this far behind is not keeping up.
	farBehind = 1 << 30
)

func (d *doctor) checkVacuum(ctx context.Context) error {
	debts, err := d.store.TableDebts(ctx)
	if err != nil {
		return err
	}
	before := len(d.findings)
	for _, t := range debts {
		if t.Dead > manyDead && t.Dead > deadShare*t.Live {
			d.add("vacuum", Warning, fmt.Sprintf("rowrun.%s has %d dead rows beside %d live ones: autovacuum doesn't keep up, or a snapshot holds it back", t.Table, t.Dead, t.Live),
				"VACUUM (ANALYZE) rowrun."+quoteIdentifier(t.Table)+";")
		}
	}
	if len(d.findings) == before {
		d.add("vacuum", Fine, "autovacuum keeps up", "")
	}
	return nil
}

func (d *doctor) checkSnapshots(ctx context.Context) error {
	holders, err := d.store.SnapshotHolders(ctx)
	if err != nil {
		return err
	}
	before := len(d.findings)
	for _, h := range holders {
		if h.Seconds == nil {
			d.checkHorizon(h)
			continue
		}
		if *h.Seconds < d.SnapshotAge.Seconds() {
			continue
		}
		held := store.Milliseconds(*h.Seconds * 1000).Round(time.Second)
		fix := "SELECT pg_terminate_backend(" + h.Name + ");"
		if h.Kind == "prepared" {
			fix = "ROLLBACK PREPARED " + quoteLiteral(h.Name) + "; -- or COMMIT PREPARED"
		}
		d.add("snapshot", Warning, fmt.Sprintf("%s (%s) has held a snapshot for %s: dead rows stay, and looks for work get slower", h.Who, h.Name, held), fix)
	}
	switch {
	case len(d.findings) > before:
	case !d.server.SeesOtherSessions:
		d.add("snapshot", Note, "this role may not see how old the transactions of other roles are", "GRANT pg_read_all_stats TO "+quoteIdentifier(d.server.Role)+";")
	default:
		d.add("snapshot", Fine, "no transaction is older than "+d.SnapshotAge.String(), "")
	}
	return nil
}

// checkHorizon judges who holds a snapshot and can't say for how long: a slot, of whichever database of the server, also
// one that only keeps the catalog's rows, or a standby that asks for its own. Index pages that were emptied are used again
// only behind all of them.
func (d *doctor) checkHorizon(h store.SnapshotHolder) {
	if h.Transactions <= manyDead {
		return
	}
	const effect = ": emptied index pages are not used again, and indexes grow"
	switch {
	case h.Kind == "session":
		d.add("snapshot", Warning, fmt.Sprintf("%s (%s) holds a snapshot of %d transactions ago for a standby%s", h.Who, h.Name, h.Transactions, effect),
			"SELECT pg_terminate_backend("+h.Name+"); -- and end the long query there, or set hot_standby_feedback = off on the standby")
	case strings.HasPrefix(h.Who, "read by nobody"):
		d.add("snapshot", Warning, fmt.Sprintf("replication slot %s (%s) holds a snapshot of %d transactions ago%s", h.Name, h.Who, h.Transactions, effect),
			"SELECT pg_drop_replication_slot("+quoteLiteral(h.Name)+"); -- if nobody needs it")
	default:
		d.add("snapshot", Warning, fmt.Sprintf("replication slot %s (%s) holds a snapshot of %d transactions ago%s: its reader doesn't confirm what it has read",
			h.Name, h.Who, h.Transactions, effect),
			"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = "+quoteLiteral(h.Name)+
				"; -- then, if nobody needs it: SELECT pg_drop_replication_slot("+quoteLiteral(h.Name)+");")
	}
}

func (d *doctor) checkSlots(ctx context.Context) error {
	slots, err := d.store.Slots(ctx)
	if err != nil {
		return err
	}
	for _, s := range slots {
		drop := "SELECT pg_drop_replication_slot(" + quoteLiteral(s.Name) + ");"
		behind := fmt.Sprintf("%d MB behind", s.Lag>>20)
		switch {
		case !s.Ours:
			d.add("slot", Warning, "slot "+s.Name+" is not this deployment's, "+behind+": what made it is gone, and it holds back the write-ahead log", drop)
		case s.Status == "lost":
			d.add("slot", Warning, "slot "+s.Name+" has lost the log that it needs: the stream has a gap", "rowrun stream drop-slot  # a replica makes a new one")
		case d.server.SlotKeepSize == "-1":
			d.add("slot", Warning, "slot "+s.Name+" is "+behind+", and max_slot_wal_keep_size is not set: with every replica gone it fills the disk",
				"ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'; SELECT pg_reload_conf();")
		case s.Status == "unreserved" || s.Lag > farBehind:
			d.add("slot", Warning, "slot "+s.Name+" is "+behind+" ("+s.Status+") and may soon be lost", "rowrun status  # is there a replica that writes the stream?")
		case !s.Active:
			d.add("slot", Note, "slot "+s.Name+" is read by nobody, "+behind, "rowrun serve")
		default:
			d.add("slot", Fine, "slot "+s.Name+" is "+behind, "")
		}
	}
	return nil
}
