package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// collect reads all rows of a question.
func collect[T any](ctx context.Context, s *Store, what, q string, to pgx.RowToFunc[T], args ...any) ([]T, error) {
	rows, err := s.pool.Query(ctx, q, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	all, err := pgx.CollectRows(rows, to)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return all, nil
}

// collectOne reads the only row of a question.
func collectOne[T any](ctx context.Context, s *Store, what, q string, to pgx.RowToFunc[T], args ...any) (T, error) {
	rows, err := s.pool.Query(ctx, q, args...)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	one, err := pgx.CollectExactlyOneRow(rows, to)
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	return one, nil
}

// find reads the row of an id. ErrNotFound: there is none.
func find[T any](ctx context.Context, s *Store, what, q string, to pgx.RowToFunc[T], id int64) (T, error) {
	found, err := collectOne(ctx, s, "read "+what, q, to, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return *new(T), fmt.Errorf("%s %d: %w", what, id, ErrNotFound)
	}
	return found, err
}
