package stream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// audit has the database itself write down each transition, in the transaction
// that makes it.
const audit = `
CREATE TABLE public.audit (run_id bigint, prior text, status text);
CREATE FUNCTION public.audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.status || NEW.status = 'PENDINGRUNNING' THEN -- promoted and claimed at once
        INSERT INTO public.audit VALUES (NEW.id, 'PENDING', 'AVAILABLE'), (NEW.id, 'AVAILABLE', 'RUNNING');
    ELSIF TG_OP = 'UPDATE' THEN
        INSERT INTO public.audit VALUES (NEW.id, OLD.status, NEW.status);
    ELSE -- one without gates is AVAILABLE from its INSERT on, which is two transitions
        INSERT INTO public.audit SELECT NEW.id, v.* FROM (VALUES (NULL, 'PENDING'), ('PENDING', 'AVAILABLE')) v(prior, status)
        WHERE v.status = 'PENDING' OR NEW.status <> 'PENDING';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER audit_insert AFTER INSERT ON rowrun.task_run FOR EACH ROW EXECUTE FUNCTION public.audit();
CREATE TRIGGER audit_update AFTER UPDATE ON rowrun.task_run FOR EACH ROW
    WHEN (NEW.status <> OLD.status) EXECUTE FUNCTION public.audit();`

type step struct {
	run         int64
	prior, next string
}

// load does what users do, at random, and a replica's work beside it.
type load struct {
	t     *testing.T
	pool  *pgxpool.Pool
	store *store.Store
	tasks []int64
}

// insert runs one transaction: some rows, sometimes with ids that were drawn
// before or are given by hand, sometimes rolled back, sometimes open while
// others commit.
func (l *load) insert(rnd *rand.Rand, rest func()) {
	ctx := context.Background()
	var drawn *int64
	if rnd.IntN(10) == 0 { // as programs do that draw ids in advance
		id := queryID(l.t, l.pool, "SELECT nextval('rowrun.task_run_id_seq')")
		drawn = &id
	}
	tx, err := l.pool.Begin(ctx)
	require.NoError(l.t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	for range 1 + rnd.IntN(4) {
		_, err := tx.Exec(ctx, `INSERT INTO rowrun.task_run (id, task_id, run_at)
			SELECT $1::bigint, $2, CASE WHEN $3 THEN now() + interval '50 ms' ELSE now() END FROM generate_series(1, $4)`,
			drawn, l.tasks[rnd.IntN(len(l.tasks))], rnd.IntN(5) == 0, map[bool]int{true: 1, false: 1 + rnd.IntN(3)}[drawn != nil])
		require.NoError(l.t, err)
		drawn = nil
	}
	if rnd.IntN(8) == 0 {
		rest() // a late commit
	}
	if rnd.IntN(6) == 0 {
		require.NoError(l.t, tx.Rollback(ctx))
		return
	}
	require.NoError(l.t, tx.Commit(ctx))
}

// meddle cancels or retries a run by hand.
func (l *load) meddle(rnd *rand.Rand) {
	ctx := context.Background()
	what := []string{"cancel_run", "retry_run"}[rnd.IntN(2)]
	_, err := l.pool.Exec(ctx, "SELECT rowrun."+what+`(id) FROM (SELECT id FROM rowrun.task_run ORDER BY id DESC OFFSET $1 LIMIT 1) r`, rnd.IntN(60))
	if code := store.SQLState(err); code != "RR004" && code != "40P01" {
		require.NoError(l.t, err)
	}
}

// replica promotes, claims and ends runs until ctx is over.
func (l *load) replica(ctx context.Context, name string, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // repeatable
	require.NoError(l.t, l.store.Register(ctx, store.Replica{ID: name, Lease: time.Hour, Queues: []string{"default"}, Types: []string{"NOOP"}}))
	capabilities := store.Capabilities{Queues: []string{"default"}, Types: []string{"NOOP"}}
	for ctx.Err() == nil {
		var pass store.Round
		var err error
		if want := 1 + rnd.IntN(20); rnd.IntN(2) == 0 {
			pass, err = l.store.Work(context.WithoutCancel(ctx), store.Trip{Replica: name, Capabilities: capabilities, Promote: store.PromoteDue, Claim: store.ClaimFresh, Want: want})
		} else {
			pass, err = l.store.Work(context.WithoutCancel(ctx), store.Trip{Replica: name, Capabilities: capabilities, Promote: []store.Promotion{store.PromoteDue, store.PromoteSweep}[rnd.IntN(2)], Want: want})
		}
		require.NoError(l.t, err)
		var endings []store.Ending
		for _, c := range pass.Claims {
			endings = append(endings, store.Ending{
				ID: c.ID, Claim: c.Claim, Failed: rnd.IntN(3) == 0, Retry: store.RetryFailure,
				Result: []byte(`{"code": "ERROR", "detail": "as asked"}`),
			})
		}
		if len(endings) > 0 {
			_, _, err := l.store.EndRuns(context.WithoutCancel(ctx), endings, 0)
			if store.SQLState(err) != "40P01" {
				require.NoError(l.t, err)
			}
		}
	}
}

func (l *load) run(seed int64, writers, rounds int) {
	ctx, stop := context.WithCancel(context.Background())
	var users, replicas sync.WaitGroup
	for i := range 2 {
		replicas.Go(func() { l.replica(ctx, fmt.Sprintf("replica-%d", i), uint64(seed)+uint64(i)) })
	}
	for i := range writers {
		users.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(seed), uint64(i))) //nolint:gosec // repeatable
			for range rounds {
				l.insert(rnd, func() { l.restWhileOthersCommit(rnd) })
				if rnd.IntN(4) == 0 {
					l.meddle(rnd)
				}
			}
		})
	}
	users.Wait()
	stop()
	replicas.Wait()
}

// restWhileOthersCommit waits until more ids were drawn, up to a bound.
func (l *load) restWhileOthersCommit(rnd *rand.Rand) {
	const drawn = "SELECT last_value FROM rowrun.task_run_id_seq"
	until := queryID(l.t, l.pool, drawn) + rnd.Int64N(200)
	limit := time.After(2 * time.Second)
	for queryID(l.t, l.pool, drawn) < until {
		select {
		case <-limit:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// happened is what the audit saw, but for the runs that only wait for a begin.
func happened(t *testing.T, p *pgxpool.Pool) map[step]int {
	t.Helper()
	rows, err := p.Query(context.Background(), `SELECT a.run_id, coalesce(a.prior, ''), a.status
		FROM public.audit a JOIN rowrun.task_run r ON r.id = a.run_id WHERE r.type <> 'CANARY'`)
	require.NoError(t, err)
	all := map[step]int{}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var s step
		err := row.Scan(&s.run, &s.prior, &s.next)
		all[s]++
		return struct{}{}, err
	})
	require.NoError(t, err)
	return all
}

// told is what the stream said.
func told(lines []printed) map[step]int {
	all := map[step]int{}
	for _, l := range lines {
		if l.Event == "stream.gap" || l.Task == nil || *l.Task == "canary" {
			continue
		}
		s := step{run: l.RunID, next: l.To}
		if l.From != nil {
			s.prior = *l.From
		}
		all[s]++
	}
	return all
}

// requireTold waits until everything is printed that happened, and says what is missing or was told twice.
func requireTold(t *testing.T, want map[step]int, lines func() []printed) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		got := told(lines())
		var differ []string
		for s, n := range want {
			if got[s] != n {
				differ = append(differ, fmt.Sprintf("%v: %d of %d", s, got[s], n))
			}
		}
		for s, n := range got {
			if want[s] == 0 {
				differ = append(differ, fmt.Sprintf("%v: %d of none", s, n))
			}
		}
		if len(differ) == 0 {
			return
		}
		require.True(t, time.Now().Before(deadline), "%d differ: %v", len(differ), differ[:min(len(differ), 20)])
		<-time.After(50 * time.Millisecond)
	}
}

// requireOrder says that each run's lines follow each other.
func requireOrder(t *testing.T, lines []printed) {
	t.Helper()
	last := map[int64]string{}
	for _, l := range lines {
		if l.Event == "stream.gap" {
			continue
		}
		from := ""
		if l.From != nil {
			from = *l.From
		}
		if _, seen := last[l.RunID]; !seen && l.Type == "CANARY" {
			last[l.RunID] = from // inserted by awaitBegin before the reader had begun
		}
		require.Equal(t, last[l.RunID], from, "run %d goes to %s", l.RunID, l.To)
		last[l.RunID] = l.To
	}
}

func TestEachTransitionIsPrintedOnceAndInOrderUnderRandomLoad(t *testing.T) {
	t.Parallel()
	seed := storetest.Seed(t)
	url := storetest.New(t)
	p := pool(t, url+"&pool_max_conns=12")
	w := watch(t, url, nil)
	exec(t, p, audit)
	l := &load{t: t, pool: p, store: open(t, url)}
	for i := range 5 {
		l.tasks = append(l.tasks, task(t, p, fmt.Sprintf("task %d", i), "NOOP"))
	}
	l.run(seed, 8, storetest.Count(40, 800))

	want := happened(t, p)
	require.Greater(t, len(want), 500)
	total := func() (n int) {
		for _, count := range told(w.lines(t)) {
			n += count
		}
		return n
	}
	eventually(t, "all is printed", func() bool { return total() >= len(want) })
	w.stop()
	lines := w.lines(t)
	require.Equal(t, want, told(lines))
	requireOrder(t, lines)
	require.Empty(t, w.gaps(t))
	t.Logf("%d transitions", len(want))
}
