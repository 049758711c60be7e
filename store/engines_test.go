package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestEnginesOfTargetsShowWhereDatabasesDo(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s, conn := open(t, url, time.Minute), connect(t, url)
	exec(t, conn, `INSERT INTO rowrun.task (name, type, database_id, payload)
		VALUES ('shop', 'SQL', 'shop', '{"sql": ""}'), ('orders', 'SQL', 'orders', '{"sql": ""}'), ('unheard', 'SQL', 'unheard', '{"sql": ""}'), ('nowhere', 'SQL', NULL, '{"sql": ""}')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task`)
	require.NoError(t, s.Register(t.Context(), store.Replica{
		ID: "r", Lease: time.Minute, Types: []string{"SQL"}, Queues: []string{"other"}, Databases: []string{"orders", "shop"}, Concurrency: 1,
		Engines: map[string]string{"shop": "MariaDB"},
	}))
	status, err := s.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"shop": "MariaDB"}, status.Replicas[0].Engines)
	for task, want := range map[string]string{
		"shop": " on shop (MariaDB)", "orders": " on orders", "unheard": " on unheard", "nowhere": ": its task has no database_id",
	} {
		require.Equal(t, "no live replica runs type SQL"+want, query[string](t, conn, `SELECT w.message FROM rowrun.task_run r
			JOIN rowrun.task k ON k.id = r.task_id CROSS JOIN LATERAL rowrun.waiting(r.id) w WHERE k.name = $1 AND w.cause = 'NO_REPLICA'`, task))
	}
}
