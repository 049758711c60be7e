package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// CountFound counts the runs, tasks, plans or deliveries (kind) that a search names: up to most, and no longer than patience. capped:
// there may be more.
func (s *Store) CountFound(ctx context.Context, kind string, search json.RawMessage, most int, patience time.Duration) (n int, capped bool, err error) {
	find, look := statement("board_find_runs"), boardLook
	switch kind {
	case "task":
		find, look = statement("board_find_tasks"), taskLook
	case "plan":
		find, look = statement("board_find_plans"), statusLook
	case "delivery":
		find, look = statement("board_find_deliveries"), taskLook
	}
	begun := time.Now()
	lowest, highest := Page{Oldest: true}.bounds()
	for {
		var ids []int64
		var over bool
		var at *Instant
		if err := s.pool.QueryRow(ctx, find, string(search), false, lowest, highest, most-n, look).Scan(&ids, &lowest, &over, &at); err != nil {
			return 0, false, fmt.Errorf("count what a filter names: %w", err)
		}
		n += len(ids)
		if over || n >= most || time.Since(begun) > patience {
			return n, !over, nil
		}
	}
}

// SearchRunsBy is SearchRuns with a filter as rowrun.find_runs takes it.
func (s *Store) SearchRunsBy(ctx context.Context, f json.RawMessage, p Page) (Found[BoardRun], error) {
	return search(ctx, s, "search runs", statement("board_find_runs"), statement("board_runs"), pgx.RowToStructByPos[BoardRun], f, p, boardLook,
		func(r BoardRun) int64 { return r.ID })
}

// SearchTasksBy is SearchTasks with a filter as rowrun.find_tasks takes it.
func (s *Store) SearchTasksBy(ctx context.Context, f json.RawMessage, p Page) (Found[BoardTask], error) {
	return search(ctx, s, "search tasks", statement("board_find_tasks"), statement("board_tasks"), pgx.RowToStructByPos[BoardTask], f, p, taskLook,
		func(k BoardTask) int64 { return k.ID })
}

// SearchDeliveriesBy is SearchDeliveries with a filter as rowrun.find_deliveries takes it.
func (s *Store) SearchDeliveriesBy(ctx context.Context, f json.RawMessage, p Page) (Found[BoardDelivery], error) {
	return search(ctx, s, "search deliveries", statement("board_find_deliveries"), statement("board_deliveries"), pgx.RowToStructByPos[BoardDelivery], f, p, taskLook,
		func(d BoardDelivery) int64 { return d.ID })
}

// PlansFound are the oldest plans that a filter names, as rowrun.find_plans takes it: up to most, of those that one look finds.
func (s *Store) PlansFound(ctx context.Context, f json.RawMessage, most int) (ids []int64, err error) {
	lowest, highest := Page{Oldest: true}.bounds()
	var reached *int64
	var over bool
	var at *Instant
	if err := s.pool.QueryRow(ctx, statement("board_find_plans"), string(f), false, lowest, highest, most, statusLook).Scan(&ids, &reached, &over, &at); err != nil {
		return nil, fmt.Errorf("find plans: %w", err)
	}
	return ids, nil
}

// BoardRunsOf reads those of these runs that there are.
func (s *Store) BoardRunsOf(ctx context.Context, ids []int64) ([]BoardRun, error) {
	return collect(ctx, s, "read runs", statement("board_runs"), pgx.RowToStructByPos[BoardRun], ids)
}

// BoardTasksOf reads those of these tasks that there are.
func (s *Store) BoardTasksOf(ctx context.Context, ids []int64) ([]BoardTask, error) {
	return collect(ctx, s, "read tasks", statement("board_tasks"), pgx.RowToStructByPos[BoardTask], ids)
}
