package store

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// How many runs fit into an answer is found once, and tried again now and then; who wants fewer has no share in it.
func TestHowManyRunsFitIntoAnAnswerIsRemembered(t *testing.T) {
	t.Parallel()
	s := &Store{}
	fits := 300
	claim := func(most int) (tries []int) {
		require.NoError(t, s.claimFitting(t.Context(), &WorkerClaim{Max: most}, func(n int) error {
			tries = append(tries, n)
			if n > fits {
				return &pgconn.PgError{Code: "54000"}
			}
			return nil
		}))
		return tries
	}
	require.Equal(t, []int{0}, claim(0), "results alone")
	require.Equal(t, []int{1000, 500, 250}, claim(1000))
	require.Equal(t, []int{250}, claim(1000))
	for range 2 * growAfter {
		require.Equal(t, []int{4}, claim(4))
	}
	for range growAfter - 1 {
		require.Equal(t, []int{250}, claim(250))
	}
	require.Equal(t, []int{500, 250}, claim(1000))
	slow := true
	require.NoError(t, s.claimFitting(t.Context(), &WorkerClaim{Max: 1000}, func(n int) error {
		if slow {
			slow = false
			return &pgconn.PgError{Code: "57014"}
		}
		require.Equal(t, 125, n, "what the server didn't do in time isn't asked of it again")
		return nil
	}))
	other := &pgconn.PgError{Code: "57P01"}
	require.ErrorIs(t, s.claimFitting(t.Context(), &WorkerClaim{Max: 1000}, func(int) error { return other }), other)
	require.Equal(t, []int{125}, claim(1000), "a connection that ends says nothing of the runs' size")
	ended, end := context.WithCancel(t.Context())
	require.ErrorIs(t, s.claimFitting(ended, &WorkerClaim{Max: 1000}, func(int) error {
		end()
		return context.DeadlineExceeded
	}), context.DeadlineExceeded)
	fits = 30
	require.Equal(t, []int{62, 31, 15}, claim(1000), "a request whose time is over has made it smaller once")
	s.workerSize = Batch{}
	fits = 300
	require.Equal(t, []int{400, 250}, claim(400), "what was too much isn't tried again")
	fits = 0
	require.Error(t, s.claimFitting(t.Context(), &WorkerClaim{Max: 1000}, func(int) error { return &pgconn.PgError{Code: "54000"} }), "one is too much")
}
