package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// Clients have marks written, by functions that they may call with any text: a pass gathers the texts of a thousand marks, so that none is
// longer than there can be.
func TestAClientsMarksAreNoLongerThanNamesAre(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client := connect(t, url), inRole(t, url, "rowrun_client")
	addReplica(t, owner, "r")
	longest := strings.Repeat("d", 200)
	task := query[int64](t, client, `INSERT INTO rowrun.task (type, database_id) VALUES ('NOOP', $1) RETURNING id`, longest)
	for _, call := range []string{
		`SELECT rowrun.mark_edited(repeat('x', 201), false)`,
		`SELECT rowrun.mark_limited(repeat('x', 301), false)`,
		`SELECT rowrun.mark_blocked(jsonb_populate_record(r, jsonb_build_object('database_id', repeat('x', 201)))) FROM rowrun.task_run r`,
	} {
		exec(t, owner, `DELETE FROM rowrun.gate_mark`)
		run := query[int64](t, client, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
		denied(t, client, "23514", call)
		exec(t, client, `UPDATE rowrun.task_run SET priority = 7 WHERE id = $1`, run)
		require.Equal(t, longest, query[string](t, owner, `SELECT DISTINCT database_id FROM rowrun.gate_mark WHERE kind = 'DATABASE'`), "the longest name has a mark")
	}
	exec(t, owner, `INSERT INTO rowrun.concurrency_limit (name, type, key_path, max_running) VALUES ('l', 'NOOP', '{tenant}', 1)`)
	exec(t, client, `INSERT INTO rowrun.task (id, type) VALUES (nextval('rowrun.task_id_seq'), 'NOOP')`)
	for _, bytes := range []int{200, 201} { // as it is, and as a hash
		exec(t, client, `INSERT INTO rowrun.task_run (task_id, input) SELECT max(id), jsonb_build_object('tenant', repeat('k', $1::int)) FROM rowrun.task`, bytes)
	}
	require.Equal(t, 2, query[int](t, owner, `SELECT count(DISTINCT limit_wait) FROM rowrun.task_run WHERE limit_wait IS NOT NULL`))
	for query[bool](t, owner, `SELECT more FROM rowrun.promote_runs()`) {
	}
}

// A pass over more than the server can hold at once is followed by smaller ones, until it gets on.
func TestAPassThatIsTooMuchForTheServerIsFollowedByASmallerOne(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := connect(t, url)
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (type, database_id) VALUES ('NOOP', 'db')`)
	exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT 1 FROM generate_series(1, 400)`)
	exec(t, conn, `CREATE FUNCTION public.much() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF (SELECT count(*) FROM n) > 60 THEN RAISE 'too much' USING ERRCODE = 'program_limit_exceeded'; END IF; RETURN NULL; END $$`)
	exec(t, conn, `CREATE TRIGGER much AFTER UPDATE ON rowrun.task_run REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION public.much()`)
	s := open(t, url, time.Minute)
	failed, promoted := 0, 0
	for promoted < 400 {
		pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep})
		if store.SQLState(err) == "54000" {
			failed++
			require.Less(t, failed, 20, "it goes on with as many as before")
			continue
		}
		require.NoError(t, err)
		promoted += pass.Promoted
	}
	require.NotZero(t, failed)
}

// What the session is told of the turn is anybody's to set for a role of his: a text that is none of ours begins anew.
func TestAPassBeginsAnewWhereItsPlaceIsUnreadable(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	addReplica(t, conn, "r")
	exec(t, conn, `INSERT INTO rowrun.task (type, database_id) SELECT 'NOOP', 'db' || i FROM generate_series(1, 3) i`)
	for _, place := range []string{`{`, `5`, `{"0": 1}`, `["", "x"]`, `["", 1e30]`, `[[], {}]`, ``} {
		exec(t, conn, `SELECT set_config('rowrun.turn', $1, false)`, place)
		exec(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT k.id FROM rowrun.task k, generate_series(1, 4) i`)
		require.Len(t, query[[]int64](t, conn, `SELECT rowrun.first_looks('{}', now() + interval '1 s', 3)`), 3, place)
		exec(t, conn, `DELETE FROM rowrun.task_run`)
	}
}

// What the database says of a schedule is nobody's to say of a task that has none.
func TestNobodyForgesAStoppedSchedule(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	owner, client := connect(t, url), inRole(t, url, "rowrun_client")
	exec(t, client, `INSERT INTO rowrun.task (type, schedule_error, scheduled_at, schedule_parts) VALUES
		('NOOP', 'stopped', NULL, NULL), ('NOOP', NULL, now(), NULL), ('NOOP', NULL, NULL, '{1}')`)
	exec(t, client, `INSERT INTO rowrun.task (type, schedule_error, schedule) VALUES ('NOOP', 'stopped', '@every 1h')`)
	require.Equal(t, "0, 1, 1", query[string](t, owner, `SELECT concat_ws(', ', count(schedule_error), count(scheduled_at), count(schedule_parts)) FROM rowrun.task`))
	require.Zero(t, query[int](t, owner, `SELECT stopped_schedules FROM rowrun.health`))
}
