package doctor

import (
	"context"
	"time"

	"github.com/rowrun/rowrun/store"
)

// beginning is what a writer of the stream may take until it reads, where nothing is wrong.
const beginning = 2 * time.Second

// checkStream finds a writer of the stream that reads nothing, and says why.
func (d *doctor) checkStream(ctx context.Context) error {
	waits, err := d.store.StreamWait(ctx)
	if err != nil || waits == nil {
		return err
	}
	timer := time.NewTimer(beginning)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	if waits, err = d.store.StreamWait(ctx); err == nil && waits != nil {
		d.judgeStream(waits)
	}
	return err
}

func (d *doctor) judgeStream(waits *store.StreamWait) {
	const reads = "the replica that writes the stream reads nothing: "
	switch {
	case waits.Slot:
		d.add("stream", Warning, reads+"nobody reads its replication slot", "rowrun status  # that replica's log and its /readyz say why")
	case d.server.FreeSlots <= 0:
		d.add("stream", Warning, reads+"it has no replication slot, and every one of the server is taken",
			"ALTER SYSTEM SET max_replication_slots = 20; -- and restart the server")
	case waits.Kind == "prepared":
		d.add("stream", Warning, reads+"no replication slot can be made before "+waits.Who+" ("+waits.Name+") in the database "+waits.Database+" has ended",
			"ROLLBACK PREPARED "+quoteLiteral(waits.Name)+"; -- or COMMIT PREPARED, in the database "+waits.Database)
	case waits.Kind == "session":
		d.add("stream", Warning, reads+"no replication slot can be made before the transaction of "+waits.Who+" (pid "+waits.Name+") in the database "+waits.Database+" has ended",
			"SELECT pg_terminate_backend("+waits.Name+");")
	default:
		d.add("stream", Warning, reads+"it has no replication slot", "rowrun status  # that replica's log and its /readyz say why")
	}
}
