package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

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
	request := uuid.NewString()
	again(func(ctx context.Context) error {
		rows, err := o.pool.Query(ctx, "SELECT run_id, claim::text FROM rowrun.claim_runs($1::text::uuid, $2, '{EXT}', 2, interval '2 s')", request, o.name)
		if err != nil {
			return err
		}
		runs, err = pgx.CollectRows(rows, pgx.RowToStructByPos[claimed])
		return err
	})
	return runs
}

func (o *outside) finish(results []map[string]any) {
	request := uuid.NewString()
	text, _ := json.Marshal(results)
	var answer []byte
	if !again(func(ctx context.Context) error {
		return o.pool.QueryRow(ctx, "SELECT rowrun.finish_runs($1::text::uuid, $2, $3)", request, o.name, string(text)).Scan(&answer)
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
