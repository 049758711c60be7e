package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Why a limit is worth a word.
const (
	// LimitZero: nothing of it may run.
	LimitZero = "ZERO"
	// LimitPauseOver: its pause has been over for more than a day.
	LimitPauseOver = "PAUSE_OVER"
	// LimitUnused: there is no task of its type and queue.
	LimitUnused = "UNUSED"
	// LimitHeld: a target has asked for time (Retry-After).
	LimitHeld = "HELD"
)

// LimitWorry is a limit that somebody should look at.
type LimitWorry struct {
	Name    string     `json:"name"`
	Worry   string     `json:"worry"`
	At      *time.Time `json:"at"`      // PAUSE_OVER: its end; UNUSED: when it was made; HELD: until when
	Waiting *int64     `json:"waiting"` // ZERO: how many runs wait for it, counted up to 1,000
}

// Text says it in words.
func (w LimitWorry) Text() string {
	at := func() string { return w.At.UTC().Format("2006-01-02 15:04:05") + " UTC" }
	switch w.Worry {
	case LimitZero:
		waiting := "no run waits"
		if w.Waiting != nil && *w.Waiting > 0 {
			waiting = fmt.Sprintf("%d runs wait", *w.Waiting)
			if *w.Waiting >= 1000 {
				waiting = "1,000 runs or more wait"
			}
		}
		return fmt.Sprintf("limit %q lets nothing run (max_running is 0): %s", w.Name, waiting)
	case LimitPauseOver:
		return fmt.Sprintf("the pause of limit %q ended on %s", w.Name, at())
	case LimitUnused:
		return fmt.Sprintf("limit %q applies to nothing: no task has its type and queue", w.Name)
	}
	return fmt.Sprintf("a target has asked limit %q to wait until %s (Retry-After)", w.Name, at())
}

// Fix is a command for it.
func (w LimitWorry) Fix() string {
	switch w.Worry {
	case LimitZero:
		return "rowrun limit set NAME --max-running N"
	case LimitPauseOver:
		return "rowrun limit set NAME --not-before none"
	case LimitUnused:
		return "rowrun limit delete NAME"
	}
	return "rowrun limit show NAME"
}

// Serious says that work stands still, or goes slower, for it.
func (w LimitWorry) Serious() bool {
	return w.Worry == LimitHeld || w.Worry == LimitZero && w.Waiting != nil && *w.Waiting > 0
}

// LimitWorries lists up to 100 limits that somebody should look at, by name.
func (s *Store) LimitWorries(ctx context.Context) ([]LimitWorry, error) {
	return collect(ctx, s, "look at limits", statement("limit_worries"), pgx.RowToStructByPos[LimitWorry])
}

// LimitRuns reads up to 50 of the runs that take places of a limit with a key, and of those that wait for one, in the order of promotion.
func (s *Store) LimitRuns(ctx context.Context, name, key string) (holding, waiting []BoardRun, err error) {
	var held, waits []int64
	if err := s.pool.QueryRow(ctx, statement("board_limit_runs"), name, key, 50).Scan(&held, &waits); err != nil {
		return nil, nil, fmt.Errorf("read runs of a limit: %w", err)
	}
	if holding, err = s.inOrder(ctx, held); err != nil {
		return nil, nil, err
	}
	waiting, err = s.inOrder(ctx, waits)
	return holding, waiting, err
}

// inOrder reads runs in the order of their ids here.
func (s *Store) inOrder(ctx context.Context, ids []int64) ([]BoardRun, error) {
	found, err := s.BoardRunsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]BoardRun, len(found))
	for _, r := range found {
		byID[r.ID] = r
	}
	runs := []BoardRun{}
	for _, id := range ids {
		if r, ok := byID[id]; ok {
			runs = append(runs, r)
		}
	}
	return runs, nil
}
