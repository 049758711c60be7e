package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// WantedWave is a wave of new tasks of a plan, by their positions.
type WantedWave struct {
	Name        string
	Soak        time.Duration // how long it has to be over before the next one is opened
	MaxFailures int           // with more no further wave is opened
	Tasks       []int
}

// PlanWave is how a wave of a plan stands.
type PlanWave struct {
	Wave        int        `json:"wave"`
	Name        string     `json:"name"`
	Status      string     `json:"status"` // WAITING, RUNNING, SOAKING, STOPPED or DONE
	Tasks       int64      `json:"tasks"`
	Done        int64      `json:"done"`
	Failed      int64      `json:"failed"`
	SoakMS      float64    `json:"soak_ms"`
	MaxFailures int        `json:"max_failures"`
	OpenedAt    *time.Time `json:"opened_at"`
	OpensAt     *time.Time `json:"opens_at"`   // if nothing comes between; nil: nobody knows yet
	DoneAt      *time.Time `json:"done_at"`    // since when all its tasks are over, without too many failures
	StoppedAt   *time.Time `json:"stopped_at"` // since when its failures keep the next one closed
}

// What a person does with the waves of a plan.
const (
	WavesResume = "RESUME"  // what has failed in the open wave runs again
	WavesRollOn = "ROLL_ON" // the next wave is opened now
	WavesGiveUp = "GIVE_UP" // all that is unfinished is canceled
)

// PlanWaves reads how the waves of a plan stand, in their order.
func (s *Store) PlanWaves(ctx context.Context, id int64) ([]PlanWave, error) {
	return collect(ctx, s, "read waves of plan", statement("plan_waves"), pgx.RowToStructByPos[PlanWave], id)
}

// MoveWaves does what a person wants of the waves of a plan; how many runs were made or canceled, or which wave was opened.
func (s *Store) MoveWaves(ctx context.Context, id int64, act, reason string) (int64, error) {
	var n int64
	if err := s.pool.QueryRow(ctx, statement("move_waves"), id, act, reason).Scan(&n); err != nil {
		return 0, fmt.Errorf("move waves: %w", err)
	}
	return n, nil
}

// RollOn opens a wave of a plan now, if it is the next one; false: it is open already.
func (s *Store) RollOn(ctx context.Context, id int64, wave int32) (bool, error) {
	var opened bool
	if err := s.pool.QueryRow(ctx, statement("roll_on"), id, wave).Scan(&opened); err != nil {
		return false, fmt.Errorf("roll on: %w", err)
	}
	return opened, nil
}

// wave is a wave as add_waves takes it.
type wave struct {
	Name        string  `json:"name"`
	Soak        float64 `json:"soak"`
	MaxFailures int     `json:"max_failures"`
	Tasks       []int64 `json:"tasks"`
}

// addWaves gives tasks that were made just now their waves.
func (a *applying) addWaves(ctx context.Context, wanted []WantedWave) error {
	if len(wanted) == 0 {
		return nil
	}
	waves := make([]wave, len(wanted))
	for i, w := range wanted {
		waves[i] = wave{w.Name, w.Soak.Seconds(), w.MaxFailures, []int64{}}
		for _, position := range w.Tasks {
			waves[i].Tasks = append(waves[i].Tasks, a.ids[a.wanted.Tasks[position].Name])
		}
	}
	if _, err := a.tx.Exec(ctx, statement("add_waves"), a.plan, waves); err != nil {
		return fmt.Errorf("make waves: %w", err)
	}
	return nil
}
