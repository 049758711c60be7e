package store_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// A duration that compares as a day and is a million years by the calendar failed whoever computed with it: every claim, every
// promotion, and so everybody.
func TestDurationsGoOneWay(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	client, operator, worker, owner := inRole(t, url, "rowrun_client"), inRole(t, url, "rowrun_operator"), inRole(t, url, "rowrun_worker"), connect(t, url)
	exec(t, client, `SELECT rowrun.define_task('good', 'NOOP', timeout => '1 month 2 days 03:04:05')`)
	for _, odd := range []string{"1000000 years -359999999 days", "-4 years 1461 days", "1 month -29 days", "1 day -23:00:00"} {
		for _, column := range []string{"timeout", "progress_timeout", "retry_delay", "retention", "spread", "aging"} {
			denied(t, client, "23514", `INSERT INTO rowrun.task (type, `+column+`) VALUES ('NOOP', $1::text::interval)`, odd)
			denied(t, client, "23514", `UPDATE rowrun.task SET `+column+` = $1::text::interval`, odd)
		}
		denied(t, client, "23514", `UPDATE rowrun.task SET retention_by_status = jsonb_build_object('FAILED', $1::text)`, odd)
		denied(t, operator, "23514", `INSERT INTO rowrun.concurrency_limit (name, rate, per) VALUES ('odd', 1, $1::text::interval)`, odd)
		denied(t, worker, "RR003", `SELECT rowrun.claim_runs(gen_random_uuid(), 'w', '{nobody}', 1, $1::text::interval)`, odd)
		denied(t, owner, "23514", `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease) VALUES ('odd', now(), $1::text::interval)`, odd)
	}
}

// What is stored in few bytes may be a large text: numbers with exponents, and copies of what was compressed.
func TestDocumentsAreBoundedAsTexts(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client := connect(t, url), inRole(t, url, "rowrun_client")
	task := query[int64](t, client, `INSERT INTO rowrun.task (type, name) VALUES ('NOOP', 'a') RETURNING id`)
	run := query[int64](t, client, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, '{"a": 1e100000}') RETURNING id`, task) // 100 kB
	exec(t, owner, `INSERT INTO rowrun.task_run_log (task_run_id, type, detail) VALUES ($1, 'note', '{"a": 1e100000}')`, run)
	for what, document := range map[string]string{
		"numbers":    `('{"a": [' || rtrim(repeat('1e131071,', 120), ',') || ']}')::jsonb`,
		"few":        `('{"a": [' || rtrim(repeat('1e131071,', 9), ',') || ']}')::jsonb`,
		"compressed": `(SELECT small FROM kept)`,
		"deep":       `('{"a": ' || repeat('[', 1000) || repeat(']', 1000) || '}')::jsonb`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			client := inRole(t, url, "rowrun_client")
			keep(t, client)
			denied(t, client, "23514", `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, `+document+`)`, task)
			denied(t, client, "23514", `INSERT INTO rowrun.task (type, payload) VALUES ('NOOP', `+document+`)`)
			denied(t, client, "23514", `UPDATE rowrun.task SET labels = `+document+` WHERE id = $1`, task)
			owner := connect(t, url)
			keep(t, owner)
			denied(t, owner, "23514", `UPDATE rowrun.task_run SET result = `+document+``)
			denied(t, owner, "23514", `UPDATE rowrun.task_run SET progress = `+document+``)
			denied(t, owner, "23514", `UPDATE rowrun.task_run_log SET detail = `+document)
			denied(t, owner, "23514", `INSERT INTO rowrun.task_type (type, alias_of, mapping) VALUES ('odd', 'NOOP', `+document+`)`)
		})
	}
	exec(t, client, `INSERT INTO rowrun.task_run (task_id, input) VALUES ($1, jsonb_build_object('a', repeat('x', 1048000)))`, task)
	require.Equal(t, int64(2), query[int64](t, owner, `SELECT count(*) FROM rowrun.task_run`))
}

// keep makes a table with a document that is stored in less than 2,000 bytes, and larger than 1 MiB as text.
func keep(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	exec(t, conn, `CREATE TEMP TABLE kept (small jsonb)`)
	exec(t, conn, `ALTER TABLE kept ALTER small SET STORAGE MAIN`)
	exec(t, conn, `INSERT INTO kept SELECT jsonb_build_object('a', jsonb_agg(i)) FROM (SELECT ('[' || rtrim(repeat('1e131071,', 31), ',') || ']')::jsonb AS i FROM generate_series(1, 100)) s`)
	require.Less(t, query[int](t, conn, `SELECT pg_column_size(small) FROM kept`), 2000)
	require.NotNil(t, query[*string](t, conn, `SELECT pg_column_compression(small) FROM kept`))
}
