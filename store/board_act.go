package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Act is what an operator has asked for, and how far it is.
type Act struct {
	ID        int64           `json:"act_id,string"`
	RequestID string          `json:"request_id"`
	Verb      string          `json:"act"`
	Kind      string          `json:"kind"`
	By        string          `json:"by"`
	At        Instant         `json:"at"`
	EndedAt   *Instant        `json:"ended_at"`
	Targets   []string        `json:"ids"`
	Filter    json.RawMessage `json:"filter"`
	Args      json.RawMessage `json:"args"`
	Count     *int            `json:"count"` // nil: not counted
	Capped    bool            `json:"capped"`
	Done      int             `json:"done"`
	Unchanged int             `json:"unchanged"`
	Failed    int             `json:"failed_count"`
	Failures  json.RawMessage `json:"failed"`
	Made      []string        `json:"made"`
	State     string          `json:"state"` // RUNNING, DONE or STOPPED
	StoppedBy *string         `json:"stopped_by"`
}

// NewAct is an act that is asked for. Either Targets or Search says on what.
type NewAct struct {
	RequestID string // a uuid
	Verb      string
	Kind      string
	By        string
	Targets   []string
	Filter    json.RawMessage // as it was asked for
	Search    json.RawMessage // as it is searched with
	Args      json.RawMessage
	Count     *int
	Capped    bool
}

var (
	// ErrNotOperator says that this process's role may not act.
	ErrNotOperator = errors.New("this process's role may not act")
	// ErrOtherAct says that a request id was used for something else.
	ErrOtherAct = errors.New("this request_id was used for another act")
)

// actAsked is an act of a request id. Same: it is what was asked for.
type actAsked struct {
	Act
	Same bool
}

// stepSize is how many targets one step acts on: their locks are held until it commits.
const stepSize = 20

// BeginAct records an act and takes its first step, in one transaction, with the note for the stream. made: otherwise there
// was one of that request id, and nothing was done. A webhook's test is recorded only. ErrOtherAct: the one of that request id
// isn't what is asked for.
func (s *Store) BeginAct(ctx context.Context, a NewAct) (act Act, made bool, err error) {
	return s.recordAct(ctx, a, func(tx pgx.Tx, id int64) error {
		if _, err := tx.Exec(ctx, statement("note_act"), id, "act.asked"); err != nil {
			return err
		}
		var more *bool
		return tx.QueryRow(ctx, statement("step_act"), id, stepSize).Scan(&more)
	})
}

// recordAct records an act and does something with it, in one transaction, unless there was one of that request id.
func (s *Store) recordAct(ctx context.Context, a NewAct, do func(tx pgx.Tx, id int64) error) (act Act, made bool, err error) {
	err = s.asOperator(ctx, func(tx pgx.Tx) error {
		var bound int64
		if a.Targets == nil {
			if bound, err = s.newest(ctx, tx, a.Kind); err != nil {
				return err
			}
		}
		var id int64
		err := tx.QueryRow(ctx, statement("begin_act"), a.RequestID, a.Verb, a.Kind, a.By, a.Targets, document(a.Filter), document(a.Search), document(a.Args), a.Count, a.Capped, bound).Scan(&id)
		switch {
		case errors.Is(err, pgx.ErrNoRows): // who came first has committed
		case err != nil:
			return err
		default:
			made = true
			if err := do(tx, id); err != nil {
				return err
			}
		}
		rows, err := tx.Query(ctx, statement("find_act_asked"), a.RequestID, a.Verb, a.Kind, a.By, a.Targets, document(a.Filter), document(a.Args))
		if err != nil {
			return err
		}
		found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[actAsked])
		if err == nil && !found.Same {
			err = ErrOtherAct
		}
		act = found.Act
		return err
	})
	if err != nil {
		return Act{}, false, fmt.Errorf("begin act: %w", err)
	}
	return act, made, nil
}

// StepAct goes on with an act; more: there is more to do. It is false where somebody else is at it.
func (s *Store) StepAct(ctx context.Context, id int64) (more bool, err error) {
	err = s.asOperator(ctx, func(tx pgx.Tx) error {
		var left *bool
		err := tx.QueryRow(ctx, statement("step_act"), id, stepSize).Scan(&left)
		more = left != nil && *left
		return err
	})
	if err != nil {
		return false, fmt.Errorf("go on with act: %w", err)
	}
	return more, nil
}

// StopAct ends an act where it is; what it has done stays.
func (s *Store) StopAct(ctx context.Context, id int64, by string) error {
	err := s.asOperator(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, statement("stop_act"), id, by)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, statement("note_act"), id, "act.stopped")
		return err
	})
	if err != nil {
		return fmt.Errorf("stop act: %w", err)
	}
	return nil
}

// EndTest records how a webhook's test went; problem "": well.
func (s *Store) EndTest(ctx context.Context, id int64, problem string) error {
	err := s.asOperator(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, statement("end_test"), id, problem)
		return err
	})
	if err != nil {
		return fmt.Errorf("record test: %w", err)
	}
	return nil
}

// FindAct reads one. ErrNotFound: there is none of that id.
func (s *Store) FindAct(ctx context.Context, id int64) (Act, error) {
	return find(ctx, s, "act", statement("find_act"), pgx.RowToStructByPos[Act], id)
}

// ListActs reads acts, the newest first; state "": of any.
func (s *Store) ListActs(ctx context.Context, state string, p Page) ([]Act, error) {
	_, highest := p.bounds()
	return collectPlanned(ctx, s, "list acts", statement("list_acts"), pgx.RowToStructByPos[Act], state, highest, p.Limit)
}

// UnfinishedActs are those that somebody has to go on with, at most 100.
func (s *Store) UnfinishedActs(ctx context.Context) ([]int64, error) {
	return collect(ctx, s, "read unfinished acts", statement("unfinished_acts"), pgx.RowTo[int64])
}

// asOperator runs fn in a transaction with the rights of rowrun_operator. ErrNotOperator: this process's role is no member.
func (s *Store) asOperator(ctx context.Context, fn func(pgx.Tx) error) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, statement("as_operator")); err != nil {
			if SQLState(err) == "42501" {
				return ErrNotOperator
			}
			return err
		}
		return fn(tx)
	})
}

// document is a JSON text or NULL.
func document(text json.RawMessage) *string {
	if text == nil {
		return nil
	}
	s := string(text)
	return &s
}
