package migrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
)

// On the way back what is of no plan goes, and a webhook that wanted nothing else is switched off: the release before would
// refuse its row at the next change.
func TestEventsOutsidePlansGoWithTheirStep(t *testing.T) {
	t.Parallel()
	url, conn := fresh(t)
	config := migrations.Config{URL: url}
	_, err := migrations.Up(t.Context(), config)
	require.NoError(t, err)
	run(t, conn, `INSERT INTO rowrun.webhook (name, url, events, filter) VALUES ('plans', 'https://a.example', NULL, NULL),
		('both', 'https://a.example', '{PIPELINE_FAILED,RUN_FAILED,TYPE_ORPHANED}', NULL), ('runs', 'https://a.example', '{RUN_FAILED}', '{"type": "NOOP"}')`)
	run(t, conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, run_id, root_id, task_id, task_type, event_type, message_id, payload)
		VALUES (1, 1, 1, NULL, NULL, NULL, NULL, 'PIPELINE_FAILED', 'a', '{}'), (3, NULL, NULL, 1, 1, 1, 'NOOP', 'RUN_FAILED', 'b', '{}'),
		(2, NULL, NULL, NULL, NULL, NULL, 'NOOP', 'TYPE_ORPHANED', 'c', '{}')`)
	_, err = conn.Exec(t.Context(), `INSERT INTO rowrun.webhook_delivery (webhook_id, event_type, message_id, payload) VALUES (3, 'RUN_FAILED', 'd', '{}')`)
	require.ErrorContains(t, err, "webhook_delivery_says_of_what")
	for ask[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'rowrun.webhook'::regclass AND attname = 'filter' AND NOT attisdropped)`) {
		_, err = migrations.Down(t.Context(), config, 1)
		require.NoError(t, err)
	}
	require.Equal(t, "plans true {PIPELINE_FAILED,PIPELINE_COMPLETED}, both true {PIPELINE_FAILED}, runs false {PIPELINE_FAILED,PIPELINE_COMPLETED}",
		ask[string](t, conn, `SELECT string_agg(concat_ws(' ', name, CASE WHEN enabled THEN 'true' ELSE 'false' END, events), ', ' ORDER BY id) FROM rowrun.webhook`))
	require.Equal(t, "a", ask[string](t, conn, `SELECT string_agg(message_id, ' ') FROM rowrun.webhook_delivery`))
	_, err = migrations.Up(t.Context(), config)
	require.NoError(t, err)
	run(t, conn, `UPDATE rowrun.webhook SET enabled = true, events = '{RUN_FAILED}', filter = '{"type": "NOOP"}' WHERE name = 'runs'`)
}
