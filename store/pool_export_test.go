package store

import "github.com/jackc/pgx/v5/pgxpool"

// Pool gives tests a way to the connections.
func (s *Store) Pool() *pgxpool.Pool { return s.pool.Pool }
