package integration_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What people come with from other schedulers, by INSERT only, with real processes.

func TestMaxAttemptsThenTheHandler(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	handler := d.task(t, "NOOP", `{}`, columns{"name": "tell somebody"})
	serve(t, d.url, rareSweeps())
	id := d.job(t, "NOOP", `{"fail": "on purpose"}`, columns{"max_attempts": 3, "retry_delay": "50 ms", "on_failure_task": "tell somebody"})
	eventually(t, patience, "the handler", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE task_id = $1 AND status = 'DONE'", handler) == 1
	})
	require.EqualValues(t, 3, ask[int64](t, d, "SELECT attempts FROM rowrun.job WHERE root_id = $1", id))
	require.Equal(t, id, ask[int64](t, d, "SELECT (input -> 'failed_run' ->> 'root_id')::bigint FROM rowrun.task_run WHERE task_id = $1", handler))
	require.Equal(t, "on purpose", ask[string](t, d, "SELECT input #>> '{failed_run,result,detail}' FROM rowrun.task_run WHERE task_id = $1", handler))
	require.EqualValues(t, 1, ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE task_id = $1", handler))
}

func TestPriorityOrderWithOneSlot(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	serve(t, d.url, rareSweeps(), w.app(), []string{"--concurrency", "1"})
	first := w.await(t, d.job(t, "HTTP", `{"path": "/wait"}`, nil))
	task := d.task(t, "NOOP", `{}`, nil)
	d.exec(t, "INSERT INTO rowrun.task_run (task_id, priority) SELECT $1, p FROM unnest('{3,9,1,7,5,2,8,4,6,0}'::int[]) p", task)
	eventually(t, patience, "their promotion", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE task_id = $1 AND status = 'AVAILABLE'", task) == 10
	})
	first.answer()
	eventually(t, patience, "their end", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE task_id = $1 AND status = 'DONE'", task) == 10
	})
	order := ""
	for _, p := range list[int](t, d, "SELECT priority FROM rowrun.task_run WHERE task_id = $1 ORDER BY started_at, id", task) {
		order += strconv.Itoa(p)
	}
	require.Equal(t, "9876543210", order)
}

// Slots are filled as they become free. A sweep comes after ten minutes: what takes less is refilled without.
func TestSlotsAreRefilledWithoutASweep(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	serve(t, d.url, rareSweeps(), []string{"--concurrency", "2"})
	d.await(t, d.job(t, "NOOP", `{}`, nil), "DONE")
	task := d.task(t, "NOOP", `{"sleep": "100ms"}`, nil)
	d.exec(t, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 20)", task)
	eventually(t, patience, "their end", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE task_id = $1 AND status = 'DONE'", task) == 20
	})
	took := ask[int64](t, d, "SELECT (extract(epoch FROM max(finished_at) - min(created_at)) * 1000)::bigint FROM rowrun.task_run WHERE task_id = $1", task)
	t.Logf("20 runs of 100 ms on 2 slots: %d ms", took)
	require.Less(t, took, patience.Milliseconds())
}

func TestReplicaAddedUnderLoadStartsARunAtOnce(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	serve(t, d.url, rareSweeps(), []string{"--concurrency", "2"})
	task := d.task(t, "NOOP", `{"sleep": "20s"}`, nil)
	d.exec(t, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 100)", task)
	eventually(t, patience, "a full replica", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE status = 'RUNNING'") == 2
	})
	late := serve(t, d.url, rareSweeps(), []string{"--concurrency", "2", "--drain-timeout", "1s"})
	id := late.id(t)
	eventually(t, patience, "its first run", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run WHERE replica_id = $1", id) > 0
	})
	took := time.Duration(ask[int64](t, d, `SELECT (extract(epoch FROM min(r.started_at) - h.started_at) * 1e9)::bigint
		FROM rowrun.task_run r JOIN rowrun.replica_heartbeat h USING (replica_id) WHERE h.replica_id = $1 GROUP BY h.started_at`, id))
	t.Logf("from its first heartbeat to its first run: %s", took)
	require.Less(t, took, patience, "a sweep comes after ten minutes, so that this only says: its start looks for runs")
}

// Both ways: the app is ahead of the replicas, and behind them.
func TestUnknownTypesWaitInARollingUpgrade(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	flags := []string{"--sweep-interval", "200ms", "--stale-sweep-interval", "200ms"}
	old := serve(t, d.url, flags, []string{"--types", "NOOP"})
	ahead := d.job(t, "HTTP", `{"path": "/ok"}`, nil)
	d.await(t, ahead, "AVAILABLE")
	d.await(t, d.job(t, "NOOP", `{}`, nil), "DONE")
	eventually(t, patience, "the warning", func() bool {
		return ask[int64](t, d, "SELECT count(*) FROM rowrun.stream_note WHERE event = 'task_type.orphaned' AND detail ->> 'type' = 'HTTP' AND printed_at IS NOT NULL") == 1
	})
	serve(t, d.url, flags, w.app(), []string{"--types", "HTTP"})
	d.await(t, ahead, "DONE")
	d.await(t, d.job(t, "NOOP", `{}`, nil), "DONE")
	old.meant = true
	old.kill(t)
	d.exec(t, "UPDATE rowrun.replica_heartbeat SET lease = '1 ms' WHERE replica_id = $1", old.id(t))
	// A claim that the killed one has sent may still be under way in the server: what it takes is settled as stale.
	left := func() string {
		behind := d.job(t, "NOOP", `{}`, nil)
		d.await(t, d.job(t, "HTTP", `{"path": "/ok"}`, nil), "DONE")
		return d.look(t, behind).Status
	}
	if left() != "AVAILABLE" {
		require.Equal(t, "AVAILABLE", left(), "nobody takes the second one")
	}
	eventually(t, patience, "the view", func() bool {
		return ask[int64](t, d, "SELECT coalesce(sum(available), 0)::bigint FROM rowrun.orphan_task_run WHERE type = 'NOOP'") == 1
	})
}
