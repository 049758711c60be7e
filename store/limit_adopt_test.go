package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A limit that is lowered counts what holds its places under the key that was drawn at the INSERT, whatever has become of the payload and the input: no
// run takes a place of another key.
func TestALoweredLimitCountsTheKeyThatWasDrawn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims int
		edit   string
	}{
		"RUNNING, another payload":   {1, `UPDATE rowrun.task SET payload = '{"tenant": "b"}'`},
		"AVAILABLE, another payload": {0, `UPDATE rowrun.task SET payload = '{"tenant": "b"}'`},
		"AVAILABLE, another input":   {0, `UPDATE rowrun.task_run SET input = '{"tenant": "b"}'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('tenants', '{tenant}', 2)`)
			exec(t, conn, `UPDATE rowrun.task SET payload = '{"tenant": "a"}'`)
			newRun(t, conn, task)
			require.Len(t, work(t, s, c.claims).Claims, c.claims)
			exec(t, conn, `UPDATE rowrun.concurrency_limit SET max_running = 1`)
			exec(t, conn, c.edit)
			promoteAll(t, conn)
			require.Equal(t, []string{"a"}, query[[]string](t, conn, `SELECT array_agg(split_part(limit_key, ':', 2)) FROM rowrun.limit_holder`))
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"tenant": "b"}')`, task)
			require.Len(t, work(t, s, 10).Claims, 2-c.claims, "one of each key")
		})
	}
}

// A pass promotes runs without gates beside another one that adopts a limit, which it has not seen. These count from then on, whether it is committed or not; those
// that it doesn't promote after all keep no place.
func TestALimitCountsWhatIsPromotedBesideItsAdoption(t *testing.T) {
	t.Parallel()
	const pass = `SELECT cardinality(p.claims) FROM rowrun.promote_runs(false, true, 1000, ROW('r',
		(SELECT string_agg(sha256(uuid_send(gen_random_uuid())), '') FROM generate_series(1, 10)), 0, 0, '{default}', '{NOOP}', '{}', '{}')::rowrun.claim_request) p`
	const nothing = `COMMIT AND NO CHAIN` // it has held back what it looked at
	for name, limit := range map[string]string{
		"NONE": `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('one', 'NOOP', 1)`,
		"FAIR": `INSERT INTO rowrun.concurrency_limit (name, key_path, max_running, share) VALUES ('one', '{tenant}', 1, 'FAIR')`,
	} {
		for _, end := range []string{`COMMIT`, `ROLLBACK`, nothing} {
			if end == nothing && name == "FAIR" {
				continue // a sweep finds it
			}
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				conn, _, task := limitedTask(t, `UPDATE rowrun.replica_heartbeat SET concurrency = 10`)
				exec(t, conn, `UPDATE rowrun.task SET payload = '{"tenant": "a"}'`)
				due := func() {
					exec(t, conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES ($1, now() + interval '1 h')`, task)
					exec(t, conn, `UPDATE rowrun.task_run SET run_at = now() WHERE run_at > now()`)
				}
				exec(t, conn, `UPDATE rowrun.task SET paused = $1`, end == nothing)
				promoteAll(t, conn) // otherwise the pass takes the lock of all
				due()
				first := connect(t, conn.Config().ConnString())
				exec(t, first, `BEGIN`)
				require.Equal(t, end != nothing, query[int](t, first, pass) == 1)
				if end == nothing {
					task = query[int64](t, conn, `INSERT INTO rowrun.task (type, payload) SELECT type, payload FROM rowrun.task RETURNING id`)
				}
				exec(t, conn, limit)
				due()
				for range 3 {
					require.Zero(t, query[int](t, conn, pass), "the other one is about to start")
				}
				exec(t, conn, `SELECT rowrun.promote_runs(true)`)
				require.True(t, query[bool](t, conn, `SELECT adopted FROM rowrun.concurrency_limit`))
				exec(t, first, end)
				started := 1
				if end == "COMMIT" {
					started = 0
				}
				require.Eventually(t, func() bool {
					started -= query[int](t, conn, pass)
					return started <= 0 && query[int](t, conn, `SELECT count(*) FROM rowrun.gate_mark`) == 0
				}, 30*time.Second, 10*time.Millisecond)
				for range 3 {
					require.Zero(t, query[int](t, conn, pass))
				}
				require.Zero(t, started)
				require.Equal(t, map[string]int{"PENDING": 1, "RUNNING": 1}, statusCounts(t, conn))
				turns := query[int](t, conn, `SELECT count(*) FROM rowrun.limit_holder h JOIN rowrun.task_run r ON r.id = h.run_id WHERE r.status = 'RUNNING' AND h.turn IS NOT NULL`)
				require.Equal(t, end != "COMMIT" && name == "FAIR", turns == 1, "what starts later has its turn")
			})
		}
	}
}

// A limit gets another id, under which nothing has a place, between the adoption and the judgement of a pass, or of a claim: that gives none of its places, and the
// next one does.
func TestALimitThatChangesBetweenAdoptionAndJudgementGivesNoPlace(t *testing.T) {
	t.Parallel()
	const claim = `cardinality(a.claims) FROM rowrun.claim_available(ROW('r', sha256('x'), 0, 0, '{default}', '{NOOP}', '{}', '{}')::rowrun.claim_request, 1, 1, NULL, NULL, NULL, NULL) a`
	for name, c := range map[string]struct {
		places  int // at first
		waiting string
		judge   string
	}{
		"a pass":  {2, "PENDING", `SELECT p.promoted FROM rowrun.promote_runs() p`},
		"a claim": {3, "AVAILABLE", `SELECT ` + claim},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, s, task := limitedTask(t, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('changes', 'NOOP', 3)`)
			exec(t, conn, `UPDATE rowrun.concurrency_limit SET max_running = $1`, c.places)
			exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, 3)`, task)
			running := work(t, s, 2).Claims
			require.Len(t, running, 2)
			exec(t, conn, `UPDATE rowrun.concurrency_limit SET max_running = 2`)
			promoteAll(t, conn)
			counts := map[string]int{"RUNNING": 2, c.waiting: 1}
			require.Equal(t, counts, statusCounts(t, conn))

			// The adoption of another limit waits.
			exec(t, conn, `CREATE FUNCTION public.waits() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS 'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END'`)
			exec(t, conn, `CREATE TRIGGER waits BEFORE INSERT ON rowrun.limit_holder FOR EACH ROW WHEN (NOT NEW.paid) EXECUTE FUNCTION public.waits()`)
			exec(t, conn, `INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('other', 'NOOP', 100)`)
			exec(t, conn, `INSERT INTO rowrun.gate_mark (kind, run_id) SELECT 'RUN', id FROM rowrun.task_run WHERE status = 'PENDING'`)
			exec(t, conn, `SELECT pg_advisory_lock(7)`)
			other := connect(t, conn.Config().ConnString())
			started := make(chan int, 1)
			go func() {
				n := -1
				if err := other.QueryRow(t.Context(), c.judge).Scan(&n); err != nil {
					t.Log(err)
				}
				started <- n
			}()
			require.Eventually(t, func() bool {
				return query[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_locks l WHERE l.pid = $1 AND l.locktype = 'advisory' AND NOT l.granted)`, other.PgConn().PID())
			}, 30*time.Second, 10*time.Millisecond)
			exec(t, conn, `UPDATE rowrun.concurrency_limit SET queue = 'default' WHERE name = 'changes'`)
			exec(t, conn, `SELECT pg_advisory_unlock(7)`)
			require.Zero(t, <-started)
			require.Equal(t, counts, statusCounts(t, conn))
			for range 3 {
				require.Empty(t, work(t, s, 10).Claims)
			}
			require.True(t, query[bool](t, conn, `SELECT bool_and(adopted) FROM rowrun.concurrency_limit`))
			endClaims(t, s, running[:1])
			require.Len(t, append(work(t, s, 10).Claims, work(t, s, 10).Claims...), 1)
		})
	}
}
