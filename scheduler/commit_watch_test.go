package scheduler_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// An INSERT for which another transaction's notification speaks is found however long after that one it commits, not
// by a sweep.
func TestAnInsertThatCommitsLongAfterItsNotificationIsFound(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c, behind := newClient(t, url), newClient(t, url)
	listener, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = listener.Close(context.WithoutCancel(t.Context())) }()
	_, err = listener.Exec(t.Context(), `LISTEN `+store.Channel)
	require.NoError(t, err)
	task := c.int(`INSERT INTO rowrun.task (type) VALUES ('` + workType + `') RETURNING id`)
	startReplica(t, url, done, nil)

	// One that speaks for all that commit in these two seconds.
	c.exec(`BEGIN`)
	c.exec(`SELECT pg_advisory_xact_lock(1920298606, (extract(epoch FROM now()) * 200)::bigint::bit(32)::int + i) FROM generate_series(0, 400) i`)
	behind.exec(`BEGIN`)
	behind.exec(`SET CONSTRAINTS ALL IMMEDIATE`)
	run := behind.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	c.exec(`SELECT pg_notify('` + store.Channel + `', '[]')`)
	c.exec(`COMMIT`)
	c.exec(`SELECT pg_sleep(0.1)`)
	require.Zero(t, c.int(`SELECT count(*) FROM rowrun.task_run`))
	behind.exec(`COMMIT`)
	poll(t, "its end", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE id = $1 AND status = 'DONE'`, run) == 1
	})
	spoke := false
	for {
		n, err := listener.WaitForNotification(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, behind.conn.PgConn().PID(), n.PID, "it wasn't silent: nothing is tested")
		spoke = spoke || n.PID == c.conn.PgConn().PID()
		if strings.Contains(n.Payload, `"to":"AVAILABLE"`) {
			break
		}
	}
	require.True(t, spoke)
}

// The same where the one that commits late has the larger number of the two: the snapshot of the first look ends before it, and
// doesn't name it as under way.
func TestAnInsertOfALaterTransactionIsFound(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c, behind := newClient(t, url), newClient(t, url)
	task := c.int(`INSERT INTO rowrun.task (type) VALUES ('` + workType + `') RETURNING id`)
	startReplica(t, url, done, nil)
	require.Equal(t, []string{"DONE"}, c.chain(c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)))
	c.exec(`SELECT pg_sleep(0.5)`) // what that one had looked for is over

	c.exec(`BEGIN`)
	c.exec(`SELECT pg_advisory_xact_lock(1920298606, (extract(epoch FROM now()) * 200)::bigint::bit(32)::int + i) FROM generate_series(0, 400) i`)
	c.exec(`SELECT pg_notify('` + store.Channel + `', '[]'), pg_current_xact_id()`)
	behind.exec(`BEGIN`)
	behind.exec(`SET CONSTRAINTS ALL IMMEDIATE`)
	run := behind.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	c.exec(`COMMIT`)
	c.exec(`SELECT pg_sleep(0.3)`)
	behind.exec(`COMMIT`)
	poll(t, "its end", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE id = $1 AND status = 'DONE'`, run) == 1
	})
}

// The same where a pass that comes for something else, a run that is due, is the first to see that the late one has committed: it
// claims what it promotes and looks for nothing else.
func TestALookForSomethingElseEndsNoWatch(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	c, behind := newClient(t, url), newClient(t, url)
	task := c.int(`INSERT INTO rowrun.task (type) VALUES ('` + workType + `') RETURNING id`)
	startReplica(t, url, done, nil)
	require.Equal(t, []string{"DONE"}, c.chain(c.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)))
	c.exec(`INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1.1 s')`, task)
	c.exec(`SELECT pg_sleep(0.6)`) // what these had looked for is over

	c.exec(`BEGIN`)
	c.exec(`SELECT pg_advisory_xact_lock(1920298606, (extract(epoch FROM now()) * 200)::bigint::bit(32)::int + i) FROM generate_series(0, 400) i`)
	c.exec(`SELECT pg_notify('` + store.Channel + `', '[]'), pg_current_xact_id()`)
	behind.exec(`BEGIN`)
	behind.exec(`SET CONSTRAINTS ALL IMMEDIATE`)
	run := behind.int(`INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
	c.exec(`COMMIT`)
	c.exec(`SELECT pg_sleep(0.42)`) // looks come after 6, 18, 42, 90, 186, 378 and 762 ms
	behind.exec(`COMMIT`)
	poll(t, "its end", func() bool {
		return c.int(`SELECT count(*) FROM rowrun.task_run WHERE id = $1 AND status = 'DONE'`, run) == 1
	})
}
