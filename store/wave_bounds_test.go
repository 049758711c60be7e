package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// What a client gives as a soak, and what stands in a row that the owner wrote, fails no pass.
func TestASoakWithoutBoundsFailsNoPass(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, client := connect(t, url), inRole(t, url, "rowrun_client")
	for _, soak := range []string{"9223372036854", "3155760001", "-1", `"NaN"`, `"Infinity"`, "1e400"} {
		denied(t, client, "RR003", `SELECT rowrun.add_waves(rowrun.create_plan('x' || $1::text, '[{"name": "a", "type": "NOOP"}]'),
			format('[{"soak": %s, "tasks": []}, {"tasks": []}]', $1::text)::jsonb)`, soak)
	}
	exec(t, client, `SELECT rowrun.add_waves(rowrun.create_plan('long', '[{"name": "a", "type": "NOOP"}]'), '[{"soak": 3155760000, "tasks": []}, {"tasks": []}]')`)
	for _, soak := range []string{"1000000 years -359999999 days", "100000000 years", "2 days"} {
		exec(t, conn, `WITH p AS (INSERT INTO rowrun.plan (name) VALUES ($1) RETURNING id)
			INSERT INTO rowrun.plan_wave (plan_id, wave, name, soak) SELECT p.id, n, $1, $1::interval FROM p, generate_series(1, 2) n`, soak)
	}
	exec(t, conn, `WITH p AS (INSERT INTO rowrun.plan (name) VALUES ('done') RETURNING id)
		INSERT INTO rowrun.plan_wave (plan_id, wave, name, soak, opened_at, done_at)
		SELECT p.id, n, 'done', '100 years', CASE n WHEN 1 THEN now() END, CASE n WHEN 1 THEN timestamptz '294276-12-31' END FROM p, generate_series(1, 2) n`)
	exec(t, conn, `INSERT INTO rowrun.gate_mark (kind, plan_id) SELECT 'PLAN', id FROM rowrun.plan`)
	passes(t, conn)
	passes(t, conn)
	require.Equal(t, "1000000 years -359999999 days: 36525 days 100000000 years: 36525 days 2 days: 2 days done: 36525 days long: 36525 days",
		query[string](t, conn, `SELECT string_agg(p.name || ': ' || (extract(epoch FROM w.opens_at - b.opened_at) / 86400)::int || ' days', ' ' ORDER BY p.name COLLATE "C")
			FROM rowrun.plan p JOIN rowrun.plan_wave w ON w.plan_id = p.id AND w.wave = 2 JOIN rowrun.plan_wave b ON b.plan_id = p.id AND b.wave = 1`))
}

// A task that a typing error left without a wave would run at once.
func TestAWaveHasItsMembersAndNoOthers(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, client := connect(t, url), inRole(t, url, "rowrun_client")
	exec(t, client, `SELECT rowrun.create_plan('p', '[{"name": "a", "type": "NOOP"}]')`)
	for waves, says := range map[string]string{
		`[{"name": "canary", "task": [1]}]`: "wave 1: tasks is no array of ids", `[{"tasks": [1], "maxFailures": 2}]`: `wave 1: "maxFailures" is none of its members`,
		`[{"tasks": null}]`: "wave 1: tasks is no array of ids", `[{"tasks": [1]}, [1]]`: "wave 2: it is no object", `[{"tasks": {"1": 1}}]`: "wave 1: tasks is no array of ids",
	} {
		_, err := client.Exec(t.Context(), `SELECT rowrun.add_waves(1, $1)`, waves)
		require.ErrorContains(t, err, says, waves)
		require.Equal(t, "RR003", store.SQLState(err), waves)
	}
	require.Zero(t, query[int](t, conn, `SELECT count(*)::int FROM rowrun.plan_wave`))
}

// When an author's tasks run is the author's to say: neither do they get a wave of a client's, nor do they wait for one.
func TestTheWavesOfAuthorsTasksAreTheirs(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, author, client := connect(t, url), inRole(t, url, "rowrun_author"), inRole(t, url, "rowrun_client")
	exec(t, author, `SELECT rowrun.create_plan('theirs', '[{"name": "a", "type": "SQL", "payload": {"sql": "SELECT 1"}, "database_id": "d"}, {"name": "b", "type": "NOOP"}]')`)
	for _, waves := range []string{`[{"soak": 86400, "tasks": []}, {"tasks": [1]}]`, `[{"soak": 3155760000, "tasks": []}]`, `[{"tasks": [2]}]`} {
		for _, function := range []string{"add_waves", "make_waves", "make_any_waves"} {
			denied(t, client, "42501", `SELECT rowrun.`+function+`(1, $1)`, waves)
		}
		denied(t, client, "42501", `SELECT rowrun.give_waves(1, $1, true)`, waves)
	}
	require.Zero(t, query[int](t, conn, `SELECT count(*)::int FROM rowrun.plan_wave`))
	require.Equal(t, 1, query[int](t, author, `SELECT rowrun.add_waves(1, '[{"tasks": [1]}]')`))
	require.Equal(t, 2, query[int](t, author, `SELECT rowrun.add_waves(1, '[{"tasks": [2]}]')`))
	// A task without an end would keep a wave under way.
	denied(t, client, "RR003", `INSERT INTO rowrun.task (plan_id, type, wave) VALUES (1, 'NOOP', 1)`)
	denied(t, author, "RR003", `INSERT INTO rowrun.task (plan_id, type, wave) VALUES (1, 'NOOP', 1)`)

	// In a plan of its own a client has them, and so has an author there.
	exec(t, client, `SELECT rowrun.create_plan('own', '[{"name": "a", "type": "NOOP"}, {"name": "b", "type": "NOOP"}]')`)
	require.Equal(t, 1, query[int](t, client, `SELECT rowrun.add_waves(plan_id, jsonb_build_array(jsonb_build_object('tasks', jsonb_build_array(id))))
		FROM rowrun.task WHERE plan_id = 2 AND name = 'a'`))
	require.Equal(t, 2, query[int](t, author, `SELECT rowrun.add_waves(plan_id, jsonb_build_array(jsonb_build_object('tasks', jsonb_build_array(id))))
		FROM rowrun.task WHERE plan_id = 2 AND name = 'b'`))
	denied(t, inRole(t, url, "rowrun_viewer"), "42501", `SELECT rowrun.add_waves(2, '[{"tasks": []}]')`)
}

func TestAVersionIsGivenNoLaterWaveThanALargerOne(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `INSERT INTO rowrun.plan (name) VALUES ('p')`)
	exec(t, conn, `INSERT INTO rowrun.task (plan_id, name, type, database_id, version)
		VALUES (1, 'a1', 'DATABASE_MIGRATE', 'a', '1'), (1, 'a2', 'DATABASE_MIGRATE', 'a', '2'), (1, 'b1', 'DATABASE_MIGRATE', 'b', '1'), (1, 'a3', 'DATABASE_MIGRATE', 'a', '3')`)
	refused := func(waves, want string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), `SELECT rowrun.add_waves(1, $1)`, waves)
		require.Equal(t, "RR003", store.SQLState(err), "%v", err)
		require.ErrorContains(t, err, want)
	}
	refused(`[{"tasks": [2]}, {"tasks": [1]}]`, "task 1 (version 1 of a) in wave 2 would wait for task 2 (version 2) in wave 1")
	exec(t, conn, `SELECT rowrun.add_waves(1, '[{"tasks": [2]}, {"tasks": [3, 4]}]')`)
	refused(`[{"tasks": [1]}]`, "task 1 (version 1 of a) in wave 3 would wait for task 2 (version 2) in wave 1")
	// What has ended, or is not to run, waits for nobody.
	exec(t, conn, `SET session_replication_role = replica; UPDATE rowrun.task SET outcome = 'DONE' WHERE id = 2; UPDATE rowrun.task SET skipped = true WHERE id = 4`)
	exec(t, conn, `SET session_replication_role = origin; SELECT rowrun.add_waves(1, '[{"tasks": [1]}]')`)
}
