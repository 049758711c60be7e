package store

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
)

// What MakeAct makes: the verb of the act, and the kind of its target.
const (
	MakeRun  = "run"    // of a task: rowrun.run_task
	MakeTask = "define" // a task: rowrun.define_task
	MakePlan = "create" // a plan: rowrun.create_plan
)

// MakeAct records an act and makes what it is to make, in one transaction, with the note for the stream: where that is refused
// nothing is recorded. What is made stands in made of the act, also where there was one of that request id. arguments are those
// of the function, by name. ErrOtherAct: the one of that request id isn't what is asked for.
func (s *Store) MakeAct(ctx context.Context, a NewAct, arguments json.RawMessage) (Act, error) {
	making := statement("act_make_run")
	switch a.Verb {
	case MakeTask:
		making = statement("act_make_task")
	case MakePlan:
		making = statement("act_make_plan")
	}
	act, _, err := s.recordAct(ctx, a, func(tx pgx.Tx, id int64) error {
		var made int64
		if err := tx.QueryRow(ctx, making, string(arguments)).Scan(&made); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, statement("end_making"), id, made); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, statement("note_act"), id, "act.asked")
		return err
	})
	return act, err
}
