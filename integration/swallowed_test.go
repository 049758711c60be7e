package integration_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// writes are the statements whose transactions change what becomes of runs.
func writes() []string {
	return []string{"claim_runs", "end_plain_runs", "hand_over_run", "append_log"}
}

// plan loses one answer: the server has committed, the client hears nothing and its connection is cut. Or one commit:
// the connection is cut before the server hears of it.
type plan struct {
	mu     sync.Mutex
	what   string // statement
	left   int    // answers of it until the one that is lost; 0: none is
	commit bool   // not the answer is lost, but what it would have answered
	lost   bool
	dice   func(labels []string) bool // where not nil, it says which answers are lost
}

// arm has the n-th answer from now on lost that answers a transaction with this statement; 0: none.
func (p *plan) arm(what string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.left, p.commit, p.lost = what, n, false, false
}

// armCommit has the next commit lost of a transaction with this statement.
func (p *plan) armCommit(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.left, p.commit, p.lost = what, 1, true, false
}

// took says whether the answer was lost.
func (p *plan) took() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// loses says whether to cut the connection: at the commit of a transaction with these statements, or at its answer.
func (p *plan) loses(labels []string, commit bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dice != nil {
		return !commit && p.dice(labels)
	}
	// The statement for one run has the name of the one for many without its s.
	if p.left == 0 || p.commit != commit || !slices.ContainsFunc(labels, func(l string) bool { return l == p.what || l+"s" == p.what }) {
		return false
	}
	p.left--
	p.lost = p.left == 0
	return p.lost
}

// Ten runs, two of which the app takes over; again for each answer of each kind, until the scenario is over before the
// n-th comes.
func TestLostAnswerOfACommitLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	d, w, lose := newDatabase(t), newWitness(t), &plan{}
	serve(t, newProxy(t, d.url, lose).url, w.app(),
		[]string{"--sweep-interval", "100ms", "--concurrency", "3", "--heartbeat-interval", "1s"})
	recovered := columns{"on_stale": "RETRY"}
	plain, taken := d.task(t, "HTTP", `{"path": "/ok"}`, recovered), d.task(t, "HTTP", `{"path": "/take"}`, recovered)

	lostContact := 0
	for _, what := range writes() {
		n := 1
		for ; ; n++ {
			require.Less(t, n, 500, "the scenario does not come to an end")
			lose.arm(what, n)
			roots := list[int64](t, d, `INSERT INTO rowrun.task_run (task_id)
				SELECT CASE WHEN i % 5 = 0 THEN $1::bigint ELSE $2 END FROM generate_series(1, 10) i RETURNING id`, taken, plain)
			eventually(t, patience, "all chains ended", func() bool {
				completeTaken(t, d, w)
				return !ask[bool](t, d, `SELECT EXISTS (SELECT FROM rowrun.job WHERE root_id = ANY ($1)
					AND status IN ('PENDING', 'AVAILABLE', 'RUNNING'))`, roots)
			})
			took := lose.took()
			lose.arm("", 0)
			for _, root := range roots {
				lostContact += checkChain(t, d, w, root, fmt.Sprintf("answer %d of %s", n, what))
			}
			if !took {
				break
			}
		}
		require.Greater(t, n, 1, "the fault: an answer of %s was lost", what)
		t.Logf("answers of %s lost one by one: %d", what, n-1)
	}
	t.Logf("runs that ended LOST_CONTACT with a successor: %d", lostContact)
	require.Positive(t, lostContact)
}

// completeTaken is the app that ends what it has taken over.
func completeTaken(t *testing.T, d *database, w *witness) {
	t.Helper()
	for _, id := range list[int64](t, d, "SELECT id FROM rowrun.task_run WHERE status = 'RUNNING' AND replica_id IS NULL") {
		d.exec(t, "SELECT rowrun.complete_run($1, $2::text::uuid)", id, w.await(t, id).claim)
	}
}

// checkChain proves of one chain that it was done once: each run of it called the app at most once, one whose claim
// was not heard never, and the last ended DONE. It returns how many went before that one.
func checkChain(t *testing.T, d *database, w *witness, root int64, what string) int {
	t.Helper()
	ids := list[int64](t, d, "SELECT id FROM rowrun.task_run WHERE root_id = $1 ORDER BY attempt", root)
	var story []string
	for i, id := range ids {
		r := d.look(t, id)
		story = append(story, r.Status+" "+r.Code)
		if i < len(ids)-1 {
			require.Equal(t, "FAILED LOST_CONTACT", r.Status+" "+r.Code, "%s", what)
			require.Equal(t, detailLostContact, r.Detail)
			require.Equal(t, ids[i+1], *r.RetryRunID)
			require.Empty(t, w.of(id), "%s: run %d was called", what, id)
			continue
		}
		require.Equal(t, "DONE", r.Status, "%s: %s", what, strings.Join(story, ", "))
		require.Len(t, w.of(id), 1, "%s: run %d", what, id)
	}
	return len(ids) - 1
}
