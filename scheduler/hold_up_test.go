package scheduler_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// lines is a log that a test reads.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.all.String(), text)
}

func holdUpReplica(t *testing.T, url string, log *lines) *replica {
	t.Helper()
	return startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil },
		func(c *scheduler.Config) {
			c.SweepInterval = 200 * time.Millisecond
			c.StaleAfter = 3 * time.Second
			c.Log = zerolog.New(log)
		})
}

// A session that keeps INSERTs from notifying is named once in the log and in what the replica says of itself, until it
// ends; what is inserted meanwhile runs all the same.
func TestASessionThatSilencesInsertsIsNamed(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	log := &lines{}
	r := holdUpReplica(t, url, log)
	c, holder := newClient(t, url), newClient(t, url)
	pid := holder.int(`SELECT pg_backend_pid()`)
	holder.exec(`SELECT pg_advisory_lock(1920298607, 3), pg_advisory_lock(1920298607, 1)`)
	require.Equal(t, "DONE", c.ends(c.run("database_id", "'db'")))
	require.Equal(t, "DONE", c.ends(c.run("name", "'free'")))
	poll(t, "it is named", func() bool {
		all := r.Status().HoldUps
		return len(all) == 1 && all[0].PID == pid
	})
	said := fmt.Sprintf("SELECT pg_terminate_backend(%d)", pid)
	poll(t, "it is said", func() bool { return log.count(said) > 0 })
	holder.exec(`SELECT pg_advisory_unlock_all()`)
	poll(t, "it is over", func() bool { return len(r.Status().HoldUps) == 0 && log.count("no longer held up") == 1 })
	require.Equal(t, 1, log.count(said), "once")
}

// Sessions that relieve each other silence INSERTs for as long as one would: each is named, though none is found twice.
func TestSessionsThatRelieveEachOtherAreNamed(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	log := &lines{}
	r := holdUpReplica(t, url, log)
	relieve := func() client {
		c := newClient(t, url)
		c.exec(`SELECT pg_try_advisory_lock(1920298606, (extract(epoch FROM clock_timestamp()) * 200 + 5000 + i)::bigint::bit(32)::int) FROM generate_series(1, 50) i`)
		return c
	}
	holder := relieve()
	poll(t, "one of many is named", func() bool {
		next := relieve()
		require.NoError(t, holder.conn.Close(t.Context()))
		holder = next
		return len(r.Status().HoldUps) > 0 && log.count("keeps INSERTs from notifying") > 0
	})
}

// A session that has statements of a replica wait is named while they do, and after their time limits too.
func TestASessionThatBlocksAReplicaIsNamed(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	log := &lines{}
	r := holdUpReplica(t, url, log)
	c, holder := newClient(t, url), newClient(t, url)
	pid := holder.int(`SELECT pg_backend_pid()`)
	holder.exec(`BEGIN`)
	holder.exec(`LOCK TABLE rowrun.task_run IN ACCESS EXCLUSIVE MODE`)
	poll(t, "it is named", func() bool {
		all := r.Status().HoldUps
		return len(all) > 0 && all[0].PID == pid && strings.Contains(all[0].What, "task_run")
	})
	poll(t, "failures are counted", func() bool { return log.count(fmt.Sprintf("SELECT pg_terminate_backend(%d)", pid)) > 0 })
	holder.exec(`ROLLBACK`)
	require.Equal(t, "DONE", c.ends(c.run("name", "'free'")))
}

// Where most runs of four databases are sequential, leases short, and a snapshot keeps what ended from being removed,
// passes take longer than their statements may. They get on all the same.
func TestGatedRunsGetOnBesideAnOldSnapshot(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c, idle := newClient(t, url), newClient(t, url)
	c.exec(`INSERT INTO rowrun.task (type, name, database_id, sequential) SELECT $1, 'd' || i, 'd' || i, true FROM generate_series(1, 4) i`, workType)
	idle.exec(`BEGIN ISOLATION LEVEL REPEATABLE READ`)
	idle.int(`SELECT count(*) FROM rowrun.task_run`)
	for range 3 {
		startReplica(t, url, func(context.Context, *scheduler.Run) (scheduler.Result, error) { return scheduler.Result{}, nil },
			func(c *scheduler.Config) {
				c.SweepInterval = 5 * time.Second
				c.StaleAfter = 3 * time.Second
			})
	}
	runs := int64(storetest.Count(1200, 20000))
	c.exec(`INSERT INTO rowrun.task_run (task_id) SELECT t.id FROM rowrun.task t, generate_series(1, $1::bigint) i`, runs/4)
	for done := int64(0); done < runs; {
		last := done
		for deadline := time.Now().Add(10 * time.Second); done == last && time.Now().Before(deadline); {
			done = c.int(`SELECT count(*) FROM rowrun.task_run WHERE status = 'DONE'`)
		}
		require.Greater(t, done, last, "nothing has ended for 10 s")
	}
}
