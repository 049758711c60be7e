package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowrun/rowrun/integration/history"
)

// lease is that of a worker's claims.
const lease = 2 * time.Second

// outside is a worker in another language, as far as the database can tell: it claims, works, sends its results until it is
// answered, and sometimes is gone in the middle.
type outside struct {
	pool *pgxpool.Pool // through a network
	l    *ledger
	rnd  *rand.Rand
	name string
	left int
}

type claimed struct {
	Run   int64
	Claim string
}

// work goes on until ctx ends; what it has claimed by then it ends.
func (o *outside) work(ctx context.Context) {
	for ctx.Err() == nil {
		runs := o.claim(ctx)
		if len(runs) == 0 {
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		var results []map[string]any
		for _, r := range runs {
			c := o.l.begin(&call{run: r.Run, claim: r.Claim})
			<-time.After(time.Duration(o.rnd.IntN(30)) * time.Millisecond)
			o.l.end(c, 200)
			results = append(results, map[string]any{"run_id": r.Run, "claim": r.Claim, "status": "DONE", "result": map[string]string{"claim": r.Claim}})
		}
		if o.rnd.IntN(12) == 0 { // killed: another one comes
			o.left++
			o.name = fmt.Sprintf("outside %d after %s", o.left, o.name[:min(len(o.name), 9)])
			continue
		}
		o.finish(results)
	}
}

// again asks until it is answered, at most for the time of a lease.
func again(ask func(ctx context.Context) error) bool {
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err := ask(ctx)
		cancel()
		if err == nil {
			return true
		}
		<-time.After(50 * time.Millisecond)
	}
	return false
}

// claim asks with one request id until it is answered.
func (o *outside) claim(context.Context) (runs []claimed) {
	id, began := uuid.NewString(), time.Now()
	answered := again(func(ctx context.Context) error {
		rows, err := o.pool.Query(ctx, "SELECT run_id, claim::text FROM rowrun.claim_runs($1::text::uuid, $2, '{EXT}', 2, $3)", id, o.name, lease)
		if err != nil {
			return err
		}
		runs, err = pgx.CollectRows(rows, pgx.RowToStructByPos[claimed])
		return err
	})
	asked := request{hash: hashOf(id), took: time.Since(began), answered: answered}
	for _, r := range runs {
		asked.told = append(asked.told, r.Run)
	}
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	o.l.requests = append(o.l.requests, asked)
	return runs
}

func (o *outside) finish(results []map[string]any) {
	request := uuid.NewString()
	text, _ := json.Marshal(results)
	var answer []byte
	if !again(func(ctx context.Context) error {
		err := o.pool.QueryRow(ctx, "SELECT rowrun.finish_runs($1::text::uuid, $2, $3)", request, o.name, string(text)).Scan(&answer)
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok && (refused.Code[:2] == "RR" || refused.Code[:2] == "23") {
			o.l.mu.Lock()
			defer o.l.mu.Unlock()
			o.l.unread = append(o.l.unread, refused.Error())
		}
		return err
	}) {
		return
	}
	var said struct {
		Ended []struct {
			RunID   int64  `json:"run_id"`
			Verdict string `json:"verdict"`
		} `json:"ended"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return
	}
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	for i, e := range said.Ended {
		claim, _ := results[i]["claim"].(string)
		o.l.verdicts = append(o.l.verdicts, verdict{e.RunID, claim, e.Verdict})
	}
}

func (r *rig) checkWorkers(j *judge, runs map[int64]*past) {
	for _, v := range r.ledger.refusals {
		j.hold("verdicts", v.code == "RR002", "run %d: the app, whose run it may not be any more, was told %s: %s", v.run, v.code, v.said)
	}
	for _, v := range r.ledger.verdicts {
		p := runs[v.run]
		ok := p != nil && (v.said != "OK" || p.last() == "DONE" || p.last() == "CANCELED")
		j.hold("verdicts", ok, "run %d: its worker was told %s, and it is not DONE", v.run, v.said)
		lost := v.said == "LOST" && p != nil && p.last() == "DONE" && slices.Contains(p.claims, hashOf(v.claim))
		j.hold("verdicts", !lost, "run %d: its worker was told that it had lost it, and it is DONE by its claim", v.run)
	}
	for _, said := range r.ledger.unread {
		j.hold("one request", false, "a worker's results were refused: %s", said)
	}
	r.checkRequests(j, runs)
}

// checkRequests: a worker that asks again, because it was not answered, is told what the first asking took, while its lease holds.
func (r *rig) checkRequests(j *judge, runs map[int64]*past) {
	taken := map[string][]int64{}
	for _, commit := range r.past.Commits {
		at := slices.IndexFunc(commit.Changes, func(c history.Change) bool { return c.Table == "worker_request" && c.Op != "DELETE" })
		if at < 0 {
			continue
		}
		for _, c := range commit.Changes {
			if c.Table == "task_run" && c.Columns["status"] == "RUNNING" {
				hash := strings.TrimPrefix(commit.Changes[at].Columns["request_hash"], `\x`)
				taken[hash] = append(taken[hash], c.Number("id"))
			}
		}
	}
	for _, q := range r.ledger.requests {
		if !q.answered || q.took > lease*3/4 || slices.Contains(r.met, "clock step") {
			continue
		}
		for _, id := range taken[q.hash] {
			j.hold("one request", slices.Contains(q.told, id) || runs[id].last() == "CANCELED", "run %d was taken by a request whose worker was told of %v", id, q.told)
		}
	}
}
