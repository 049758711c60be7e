package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/store"
)

const (
	// maxMade bounds the body of what is to be made: documents of 1 MiB, or some thousand tasks of a plan.
	maxMade = 4 << 20
	// maxName bounds what the act's row names.
	maxName = 1000
)

// newRun asks for a run of a task: the arguments of rowrun.run_task.
type newRun struct {
	RequestID      string          `json:"request_id,omitempty"`
	Task           string          `json:"task"`
	Input          json.RawMessage `json:"input,omitempty"`
	RunAt          string          `json:"run_at,omitempty"`
	Priority       *int32          `json:"priority,omitempty"`
	IdempotencyKey *string         `json:"idempotency_key,omitempty"`
	After          []string        `json:"after,omitempty"`
}

// newTask asks for a task without a plan: the arguments of rowrun.define_task. The database says what is wrong in them.
type newTask struct {
	RequestID       string          `json:"request_id,omitempty"`
	Name            string          `json:"name"`
	Type            string          `json:"type"`
	Payload         json.RawMessage `json:"payload,omitempty"`
	Queue           *string         `json:"queue,omitempty"`
	DatabaseID      *string         `json:"database_id,omitempty"`
	Version         *string         `json:"version,omitempty"`
	Sequential      *bool           `json:"sequential,omitempty"`
	Priority        *int32          `json:"priority,omitempty"`
	Timeout         json.RawMessage `json:"timeout,omitempty"` // a text or a number of seconds
	ProgressTimeout json.RawMessage `json:"progress_timeout,omitempty"`
	MaxAttempts     *int32          `json:"max_attempts,omitempty"`
	RetryDelay      json.RawMessage `json:"retry_delay,omitempty"`
	OnStale         *string         `json:"on_stale,omitempty"`
	Labels          json.RawMessage `json:"labels,omitempty"`
}

// newPlan asks for a plan with its tasks: the arguments of rowrun.create_plan, which says what is wrong in the tasks.
type newPlan struct {
	RequestID     string          `json:"request_id,omitempty"`
	Name          string          `json:"name"`
	Tasks         json.RawMessage `json:"tasks"`
	Project       *string         `json:"project,omitempty"`
	ParallelLimit *int32          `json:"parallel_limit,omitempty"`
	OnFailure     *string         `json:"on_failure,omitempty"`
	OnFinishTask  *string         `json:"on_finish_task,omitempty"`
}

// made is what was made, and the act that did it.
type made struct {
	ID  string `json:"id"`
	Act act    `json:"act"`
}

func (s *server) postRun(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	var asked newRun
	if err := readBodyUpTo(maxMade, nil, r, &asked); err != nil {
		return nil, err
	}
	if asked.Task == "" {
		return nil, bad("task is missing", "The name of a task without a plan, or the id of any task as text.")
	}
	for _, id := range asked.After {
		if _, ok := parseID(id); !ok {
			return nil, bad("after: "+printable(id)+" is not accepted", "Ids of runs, as texts.")
		}
	}
	if err := checkMoment("run_at", asked.RunAt); err != nil {
		return nil, err
	}
	id := asked.RequestID
	asked.RequestID = ""
	return s.make(ctx, who, store.NewAct{RequestID: id, Verb: store.MakeRun, Kind: "task", Targets: []string{asked.Task}}, asked)
}

func (s *server) postTask(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	var asked newTask
	if err := readBodyUpTo(maxMade, nil, r, &asked); err != nil {
		return nil, err
	}
	if asked.Name == "" || asked.Type == "" {
		return nil, bad("name or type is missing", "A task without a plan has both: runs name it.")
	}
	id := asked.RequestID
	asked.RequestID = ""
	return s.make(ctx, who, store.NewAct{RequestID: id, Verb: store.MakeTask, Kind: "task", Targets: []string{asked.Name}}, asked)
}

func (s *server) postPlan(ctx context.Context, r *http.Request, who auth.Who) (any, error) {
	var asked newPlan
	if err := readBodyUpTo(maxMade, nil, r, &asked); err != nil {
		return nil, err
	}
	if asked.Tasks == nil {
		return nil, bad("tasks is missing", "An array of objects: the columns of rowrun.task that people write, and depends_on.")
	}
	id := asked.RequestID
	asked.RequestID = ""
	return s.make(ctx, who, store.NewAct{RequestID: id, Verb: store.MakePlan, Kind: "plan", Targets: []string{asked.Name}}, asked)
}

// make makes what was asked for, unless it was before. The act's row has the sum of what was asked, by which another request of
// that id is known, and not its documents: these stand where they were made.
func (s *server) make(ctx context.Context, who auth.Who, a store.NewAct, asked any) (any, error) {
	if new(pgtype.UUID).Scan(a.RequestID) != nil {
		return nil, bad("request_id is no uuid", "A random one for each decision, and the same when it is sent again.")
	}
	if name := a.Targets[0]; len(name) > maxName {
		return nil, bad(printable(name)+" is not accepted", fmt.Sprintf("A name has at most %d bytes.", maxName))
	}
	arguments, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(arguments)
	if a.Args, err = json.Marshal(map[string]string{"sha256": hex.EncodeToString(sum[:])}); err != nil {
		return nil, err
	}
	one := 1
	a.By, a.Count = who.Name, &one
	done, err := s.store.MakeAct(ctx, a, arguments)
	if err != nil {
		return nil, err
	}
	s.grids.forget()
	return made{ID: done.Made[0], Act: s.shown(ctx, who, done)}, nil
}
