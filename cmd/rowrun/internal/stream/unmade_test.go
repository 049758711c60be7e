package stream_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/store/storetest"
)

// bounded is a database on a server of its own, where a slot may be made unasked, and the address of another one there.
func bounded(t *testing.T) (url, other string) {
	t.Helper()
	cluster := storetest.OwnCluster(t)
	url, other = storetest.On(t, cluster), cluster.SocketURL("postgres")
	p := pool(t, other)
	exec(t, p, "ALTER SYSTEM SET max_slot_wal_keep_size = '1GB'")
	exec(t, p, "SELECT pg_reload_conf()")
	eventually(t, "the bound", func() bool {
		return queryID(t, p, "SELECT setting::bigint FROM pg_settings WHERE name = 'max_slot_wal_keep_size'") == 1024
	})
	return url, other
}

// holdUp has a transaction in a database that writes, and stays: no slot can be made meanwhile.
func holdUp(t *testing.T, url string) (end func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "BEGIN; CREATE TABLE held (x int)")
	require.NoError(t, err)
	return func() { require.NoError(t, conn.Close(t.Context())) }
}

// fill takes all replication slots of the server.
func fill(t *testing.T, p *pgxpool.Pool) (free func()) {
	t.Helper()
	exec(t, p, `SELECT pg_create_physical_replication_slot('taken_' || n) FROM generate_series(1,
		current_setting('max_replication_slots')::int - (SELECT count(*)::int FROM pg_replication_slots)) n`)
	return func() {
		exec(t, p, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name LIKE 'taken\\_%'")
	}
}

const whole = "PENDING AVAILABLE RUNNING DONE"

// Unasked, rows are read where the slot can't be made, from when the replica became the writer on, and the log as soon as it can be.
func TestRowsAreReadWhileTheSlotCanNotBeMade(t *testing.T) {
	t.Parallel()
	url, other := bounded(t)
	p := pool(t, url)
	id := task(t, p, "t", "NOBODY")
	end := holdUp(t, other)
	c := standByLog(t, url, "a", false)
	eventually(t, "it writes", c.Holding)
	first := walk(t, p, id, "DONE")
	eventually(t, "the first is told", func() bool { return statuses(c.of(t, first)) == whole })
	second := walk(t, p, id, "DONE")
	eventually(t, "the second is told", func() bool { return statuses(c.of(t, second)) == whole })
	require.Empty(t, c.Trouble())

	end()
	c.awaitSource(t, "wal")
	third := walk(t, p, id, "DONE")
	eventually(t, "the third is told", func() bool { return statuses(c.of(t, third)) == whole })
	require.NotEmpty(t, c.keys(t), "by the log")
	c.stop()
	for _, run := range []int64{first, second, third} {
		require.Equal(t, whole, statuses(c.of(t, run)))
	}
	require.Empty(t, c.gaps(t))
}

// The same where all slots of the server are taken, after the deployment's was dropped.
func TestRowsAreReadWhileAllSlotsAreTaken(t *testing.T) {
	t.Parallel()
	url, _ := bounded(t)
	p := pool(t, url)
	id := task(t, p, "t", "NOBODY")
	c := standByLog(t, url, "a", false)
	c.awaitSource(t, "wal")
	c.stop()
	dropped, err := open(t, url).DropStreamSlot(t.Context(), slotName(t, p), true)
	require.NoError(t, err)
	require.True(t, dropped)
	free := fill(t, p)
	c = standByLog(t, url, "b", false)
	eventually(t, "it writes", c.Holding)
	first := walk(t, p, id, "DONE")
	eventually(t, "the first is told", func() bool { return statuses(c.of(t, first)) == whole })
	require.Equal(t, []string{"the replica that wrote the stream is gone"}, c.gaps(t))

	free()
	c.awaitSource(t, "wal")
	second := walk(t, p, id, "DONE")
	eventually(t, "the second is told", func() bool { return statuses(c.of(t, second)) == whole })
	require.Len(t, c.gaps(t), 1)
	require.Len(t, c.of(t, first), 4)
}

// With the log asked for, the writer waits for its slot, and says so. Rows tell what came before the slot.
func TestAWriterThatWaitsForItsSlotSaysSoAndLosesNothing(t *testing.T) {
	t.Parallel()
	url, other := bounded(t)
	p := pool(t, url)
	id := task(t, p, "t", "NOBODY")
	end := holdUp(t, other)
	c := standByLog(t, url, "a", true)
	eventually(t, "it writes", c.Holding)
	first := walk(t, p, id, "DONE")
	eventually(t, "it says so", func() bool { return c.Trouble() != "" })
	require.Equal(t, "the stream waits for the write-ahead log: a transaction that is open kept the slot from being made", c.Trouble())
	require.Empty(t, c.lines(t))
	end()
	c.awaitSource(t, "wal")
	eventually(t, "the first is told", func() bool { return statuses(c.of(t, first)) == whole })
	require.Empty(t, c.Trouble())
	require.Empty(t, c.gaps(t), "the first start of a deployment misses nothing")
	c.stop()

	// Its slot was dropped, and all are taken: behind the gap stands what happened since.
	_, err := open(t, url).DropStreamSlot(t.Context(), slotName(t, p), true)
	require.NoError(t, err)
	free := fill(t, p)
	c = standByLog(t, url, "b", true)
	eventually(t, "it writes", c.Holding)
	second := walk(t, p, id, "DONE")
	eventually(t, "it says so", func() bool { return c.Trouble() != "" })
	require.Contains(t, c.Trouble(), "all replication slots are in use")
	free()
	eventually(t, "the second is told", func() bool { return statuses(c.of(t, second)) == whole })
	require.Equal(t, []string{"the stream was not read from the write-ahead log before"}, c.gaps(t))
}

// A first writer that dies when it has made its slot, and before rows have told what came before that, leaves a gap.
func TestAWriterThatDiedBeforeItsFirstPositionLeavesAGap(t *testing.T) {
	t.Parallel()
	url, _ := bounded(t)
	p := pool(t, url)
	id := task(t, p, "t", "NOBODY")
	walk(t, p, id, "DONE")
	_, err := p.Exec(t.Context(), `UPDATE rowrun.deployment SET stream_replica_id = 'dead'`)
	require.NoError(t, err)
	_, err = p.Exec(t.Context(), `SELECT pg_create_logical_replication_slot($1, 'pgoutput')`, slotName(t, p))
	require.NoError(t, err)
	second := walk(t, p, id, "DONE")
	c := standByLog(t, url, "a", true)
	eventually(t, "the second is told", func() bool { return statuses(c.of(t, second)) == whole })
	require.Equal(t, []string{"the replica that wrote the stream is gone, and had not said yet where it began"}, c.gaps(t))
	c.stop()
	c = standByLog(t, url, "b", true)
	c.awaitSource(t, "wal")
	third := walk(t, p, id, "DONE")
	eventually(t, "the third is told", func() bool { return statuses(c.of(t, third)) == whole })
	require.Empty(t, c.gaps(t), "it was said")
	c.stop()
}

// Where the slot is made, rows tell what was committed before the log begins, and nothing else: the server may go back to there, and the next
// writer then tells by the log what it tells of, each by its place.
func TestRowsTellNothingThatTheLogTells(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	p := pool(t, url)
	id := task(t, p, "t", "NOBODY")
	dials, goOn := make(chan struct{}), make(chan struct{})
	c := standByLogOn(t, url, "a", true, open(t, url), func(w *stream.WALConfig) {
		w.ConnConfig = w.ConnConfig.Copy()
		dial := w.ConnConfig.DialFunc
		w.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			select {
			case dials <- struct{}{}:
			case <-goOn: // closed
				return dial(ctx, network, address)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			select {
			case <-goOn:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return dial(ctx, network, address)
		}
	})
	<-dials // to make the slot
	early := queryID(t, p, insertRun, id)
	goOn <- struct{}{}
	<-dials // to read from it
	exec(t, p, "UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'me' WHERE id = $1", early)
	late := walk(t, p, id, "DONE")
	close(goOn)
	eventually(t, "all is told", func() bool {
		return statuses(c.of(t, early)) == "PENDING AVAILABLE RUNNING" && statuses(c.of(t, late)) == whole
	})
	byLog := strings.Join(c.keys(t), "\n")
	require.Equal(t, 5, strings.Count(byLog, "\n")+1, byLog)
	require.Contains(t, byLog, fmt.Sprintf(" %d AVAILABLE RUNNING", early))
	require.Contains(t, byLog, fmt.Sprintf(" %d null PENDING", late))
	require.Empty(t, c.gaps(t))
}
