package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// Of what a run is nothing changes, whoever asks.
const fixedColumns = `ROW(id, task_id, root_id, retry_of, attempt, created_at, plan_id, type, queue, database_id, version, version_key, sequential,
	idempotency_key, round, creator, failures, recoveries, own_retention, handles)`

// tryUpdate is a function that executes an UPDATE of a run as a role, says what became of the run, and takes it back.
const tryUpdate = `CREATE FUNCTION pg_temp.try(who text, run bigint, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
	before text;
BEGIN
	SELECT ` + fixedColumns + `::text INTO before FROM rowrun.task_run WHERE id = run;
	BEGIN
		PERFORM set_config('role', who, true);
		EXECUTE statement;
		RESET ROLE;
		SELECT status || CASE WHEN ` + fixedColumns + `::text = before THEN '' ELSE ' is another' END
		INTO said FROM rowrun.task_run WHERE id = run;
		RAISE EXCEPTION USING ERRCODE = 'ZZ000', MESSAGE = coalesce(said, 'gone');
	EXCEPTION WHEN OTHERS THEN
		RETURN CASE SQLSTATE WHEN 'ZZ000' THEN SQLERRM ELSE SQLSTATE END;
	END;
END $$`

// Every edge, by every role, together with any other columns: those of the state machine are taken, and no other.
func TestNoCombinationOfColumnsTakesAnEdgeThatIsNone(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(uint64(storetest.Seed(t)), 1)) //nolint:gosec // seeds, not secrets
	url := storetest.New(t)
	conn := connect(t, url)
	exec(t, conn, tryUpdate)
	statuses := []string{"PENDING", "AVAILABLE", "RUNNING", "DONE", "FAILED", "CANCELED"}
	edges := []string{"PENDING AVAILABLE", "PENDING CANCELED", "AVAILABLE RUNNING", "AVAILABLE CANCELED", "RUNNING DONE", "RUNNING FAILED", "RUNNING CANCELED"}
	roles := []string{"postgres", "rowrun_replica", "rowrun_operator", "rowrun_author", "rowrun_client", "rowrun_viewer"}

	task := query[int64](t, conn, `INSERT INTO rowrun.task (type, database_id, version) VALUES ('NOOP', 'a', '1') RETURNING id`)
	runs := map[string]int64{}
	for i, status := range statuses {
		id := query[int64](t, conn, `INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id`, task)
		way := []string{"AVAILABLE", "RUNNING", status}
		for _, next := range way[:min(i, 3)] {
			exec(t, conn, `UPDATE rowrun.task_run SET status = $2, replica_id = 'r' WHERE id = $1`, id, next)
		}
		runs[status] = id
		require.Equal(t, status, query[string](t, conn, `SELECT status FROM rowrun.task_run WHERE id = $1`, id))
	}
	// What the other columns may be given, by their types.
	values := map[string][]string{
		"bigint": {"NULL", "1", "-1", "9223372036854775807"}, "integer": {"NULL", "0", "2147483647"},
		"text":                     {"NULL", "''", "'X'", "'PLAN'", "'DATABASE'", "'PENDING'", "'RUNNING'", "prev_status", "status"},
		"timestamp with time zone": {"NULL", "'infinity'", "'-infinity'", "now()", "clock_timestamp() + interval '1 s'", "updated_at + interval '1 us'"},
		"jsonb":                    {"NULL", "'{}'", `'{"code": "X"}'`, "'[]'"},
		"boolean":                  {"NULL", "true", "false"}, "bigint[]": {"NULL", "'{1}'"}, "text[]": {"NULL", "'{1/a}'"}, "bytea": {"NULL", `'\x00'`, `sha256('x')`},
	}
	columns := all[string](t, conn, `SELECT attname || ':' || format_type(atttypid, NULL) FROM pg_attribute
		WHERE attrelid = 'rowrun.task_run'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'status' ORDER BY attnum`)
	// Those that the guard's own condition reads come often.
	inner := []string{"cause:text", "prev_status:text", "updated_at:timestamp with time zone", "edited_directly:boolean", "judge_at:timestamp with time zone"}
	set := func(from []string, n int) (list []string) {
		for _, i := range random.Perm(len(from))[:min(n, len(from))] {
			name, kind, _ := strings.Cut(from[i], ":")
			options := values[kind]
			require.NotEmpty(t, options, kind)
			item := name + " = " + options[random.IntN(len(options))]
			if !slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, name+" = ") }) {
				list = append(list, item)
			}
		}
		return list
	}
	// A pass goes from PENDING to RUNNING at once, with all of these.
	atOnce := []string{
		"prev_status = 'PENDING'", "updated_at = clock_timestamp() + interval '1 s'", "replica_id = 'r'", "claim_hash = sha256('x')",
		"available_at = now()", "started_at = clock_timestamp()",
	}
	taken := map[string]int{}
	for _, from := range statuses {
		for _, to := range append(statuses, "BOGUS", "") {
			for range storetest.Count(60, 2000) {
				list := append(set(inner, random.IntN(4)), "status = '"+to+"'")
				if from == "PENDING" && to == "RUNNING" && random.IntN(2) == 0 {
					list = append(slices.Clone(atOnce), "status = 'RUNNING'")
					if random.IntN(2) == 0 {
						i := random.IntN(len(atOnce))
						list = slices.Delete(list, i, i+1)
					}
				}
				for _, more := range set(columns, random.IntN(3)) {
					if name, _, _ := strings.Cut(more, " = "); !slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, name+" = ") }) {
						list = append(list, more)
					}
				}
				if to == "RUNNING" && random.IntN(2) == 0 && !strings.Contains(strings.Join(list, ","), "replica_id = ") {
					list = append(list, "replica_id = 'r'")
				}
				sql := fmt.Sprintf("UPDATE rowrun.task_run SET %s WHERE id = %d", strings.Join(list, ", "), runs[from])
				who := roles[random.IntN(len(roles))]
				if random.IntN(2) == 0 {
					who = roles[random.IntN(2)] // who may write all of them
				}
				became := query[string](t, conn, `SELECT pg_temp.try($1, $2, $3)`, who, runs[from], sql)
				if len(became) == 5 && became != "DONE" && !slices.Contains(statuses, became) { // an SQLSTATE
					continue
				}
				complete := from == "PENDING" && became == "RUNNING" && !slices.ContainsFunc(atOnce, func(column string) bool {
					name, _, _ := strings.Cut(column, " = ")
					return !strings.Contains(sql, " "+name+" = ") || strings.Contains(sql, " "+name+" = NULL")
				})
				require.True(t, became == from || complete || slices.Contains(edges, from+" "+became), "%s -> %s by %s: %s", from, became, who, sql)
				require.Contains(t, roles[:2], who, sql)
				if became != from {
					taken[from+" "+became]++
				}
			}
		}
	}
	for _, edge := range append(edges, "PENDING RUNNING") {
		require.Positive(t, taken[edge], "%s was never taken: nothing is tested", edge)
	}
}
