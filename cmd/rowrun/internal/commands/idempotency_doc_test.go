package commands

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// charge takes money once per Idempotency-Key: that it did, and what it answered, is a row of the same transaction.
func charge(db *pgxpool.Pool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, key := r.Context(), r.Header.Get("Idempotency-Key")
		var order struct{ Account, Amount int64 }
		if err := json.NewDecoder(r.Body).Decode(&order); err != nil || key == "" {
			http.Error(w, "an account, an amount and an Idempotency-Key are needed", http.StatusBadRequest) // not retried
			return
		}
		var answer []byte
		err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			// Where the same key is under way elsewhere, this waits for its end.
			first, err := tx.Exec(ctx, `INSERT INTO done_job (key) VALUES ($1) ON CONFLICT DO NOTHING`, key)
			if err != nil {
				return err
			}
			if first.RowsAffected() == 1 {
				_, err = tx.Exec(ctx, `WITH charged AS (UPDATE account SET balance = balance - $3 WHERE id = $2 RETURNING balance)
					UPDATE done_job SET answer = (SELECT to_jsonb(charged) FROM charged) WHERE key = $1`, key, order.Account, order.Amount)
				if err != nil {
					return err
				}
			}
			return tx.QueryRow(ctx, `SELECT answer FROM done_job WHERE key = $1`, key).Scan(&answer)
		})
		if err != nil {
			http.Error(w, "nothing was charged", http.StatusServiceUnavailable) // retried
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}
}

// The app charges, and the first answer never arrives: the job is tried again, and charges no second time.
func TestIdempotencyPageIsTrue(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	db, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	var calls atomic.Int64
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			charge(db)(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		charge(db)(w, r)
	}))
	t.Cleanup(app.Close)
	config := filepath.Join(t.TempDir(), "rowrun.yaml")
	require.NoError(t, os.WriteFile(config, []byte("databases: {shop: {url: \""+url+"\"}}\n"), 0o600))
	startServing(t, url, "--config", config, "--app-url", app.URL)
	conn := rowruntest.Connect(t, url)
	checkPage(t, conn.PgConn(), "idempotency.md")
	require.EqualValues(t, 2, calls.Load(), "the fault: an answer was lost")

	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "idempotency.md"))
	require.NoError(t, err)
	source, err := os.ReadFile("idempotency_doc_test.go")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(string(page))
	require.NotNil(t, shown)
	require.True(t, strings.Contains(string(source), shown[1]), "the page's handler is the one that was tested")

	// The same key, many times at once: one charge, and the same answer for all.
	var together sync.WaitGroup
	answers := make([]*httptest.ResponseRecorder, 8)
	for i := range answers {
		together.Go(func() {
			answers[i] = httptest.NewRecorder()
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/charge", strings.NewReader(`{"account": 1, "amount": 1}`))
			req.Header.Set("Idempotency-Key", "at once")
			charge(db)(answers[i], req)
		})
	}
	together.Wait()
	for _, a := range answers {
		require.Equal(t, http.StatusOK, a.Code)
		require.JSONEq(t, `{"balance": 70}`, a.Body.String())
	}
}
