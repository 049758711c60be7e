package stream

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// The log holds the results of all runs. Those that no line tells are not held for a reader.
func TestResultsThatNoLineTellsAreNotHeld(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	const slot = "trimmed_results"
	_, err = conn.Exec(t.Context(), `SELECT pg_create_logical_replication_slot('`+slot+`', 'pgoutput')`)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `INSERT INTO rowrun.task (id, type) VALUES (1, 'NOBODY');
		INSERT INTO rowrun.task_run (id, task_id) VALUES (1, 1), (2, 1);
		UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'me';
		UPDATE rowrun.task_run SET status = 'DONE', result = jsonb_build_object('text', repeat('x', 100000)) WHERE id = 1;
		UPDATE rowrun.task_run SET status = 'FAILED', result = '{"code":"ERROR","detail":"because"}' WHERE id = 2`)
	require.NoError(t, err)
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	rep, err := events.OpenReplication(t.Context(), events.ReplicateConfig{
		ConnConfig: config, Slot: slot, Publication: store.StreamPublication, Trim: trimResults(),
	})
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- rep.Run(ctx) }()
	defer func() {
		stop()
		require.NoError(t, <-ended)
		rep.Close()
	}()
	last := map[int64]line{}
	for len(last) < 2 || last[1].To != "DONE" || last[2].To != "FAILED" {
		txs, err := rep.Next(ctx)
		require.NoError(t, err)
		for i := range txs {
			for j := range txs[i].Rows {
				row := &txs[i].Rows[j]
				for _, v := range row.Values {
					require.Less(t, len(v.Data), 1000)
				}
				c, err := columnsOf(row.Relation)
				require.NoError(t, err)
				if l, ok, apart, err := lineOf(&c, row); ok {
					require.NoError(t, err)
					require.False(t, apart)
					last[l.RunID] = l
				}
			}
		}
	}
	require.Equal(t, "ERROR", *last[2].row.Code)
	require.Equal(t, "because", *last[2].row.Detail)
}
