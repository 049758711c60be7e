package store_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// constraintOf is the constraint that an error names.
func constraintOf(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.ConstraintName
	}
	return ""
}

// What each CHECK of a table that people write refuses is said by a trigger before, with what to do about it: PostgreSQL's own message names
// the CHECK and nothing else.
func TestWhatChecksRefuseIsSaidInWords(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, owner := inRole(t, url, "rowrun_operator"), connect(t, url)
	exec(t, owner, `INSERT INTO rowrun.plan (id) VALUES (1); INSERT INTO rowrun.task (id, plan_id, type) VALUES (1, 1, 'NOOP'), (2, NULL, 'NOOP');
		INSERT INTO rowrun.concurrency_limit (name) VALUES ('l'); INSERT INTO rowrun.task_type (type) VALUES ('OLD')`)
	const long = `repeat('x', 10001)`
	tables := map[string]map[string]string{
		"plan": {
			"plan_project_1_to_200_bytes": `project = ''`, "plan_name_up_to_200_bytes": `name = ` + long, "plan_parallel_limit_from_1": `parallel_limit = 0`,
			"plan_on_failure_stop_database_stop_or_continue": `on_failure = 'stop'`,
		},
		"task": {
			"task_name_up_to_200_bytes": `name = ` + long, "task_type_1_to_100_bytes_no_control": `type = E'a\nb'`, "task_queue_1_to_100_bytes_no_control": `queue = ''`,
			"task_database_id_1_to_200_bytes_no_control": `database_id = ''`, "task_version_numbers_and_dots": `version = 'v1'`, "task_payload_an_object": `payload = '[]'`,
			"task_timeout_0_to_100_years": `timeout = '-1 s'`, "task_progress_timeout_above_0_to_100_years": `progress_timeout = '0'`, "task_max_attempts_from_1": `max_attempts = 0`,
			"task_retry_delay_0_to_100_years": `retry_delay = '101 years'`, "task_on_stale_fail_retry_or_cancel": `on_stale = 'retry'`,
			"task_on_failure_task_1_to_200_bytes": `on_failure_task = ''`, "task_skip_reason_up_to_10000_bytes": `skip_reason = ` + long,
			"task_retention_0_to_100_years": `retention = '-1 s'`, "task_retention_by_status_done_failed_canceled": `retention_by_status = '{"OPEN": "1 s"}'`,
			"task_retention_by_status_0_to_100_years": `retention_by_status = '{"DONE": "1 s", "FAILED": "-1 s"}'`, "task_labels_an_object": `labels = '1'`,
			"task_schedule_up_to_1000_bytes": `schedule = ` + long, "task_time_zone_up_to_100_bytes": `time_zone = ` + long, "task_misfire_skip_once_or_all": `misfire = 'x'`,
			"task_overlap_skip_or_queue": `overlap = 'x'`, "task_starts_at_1900_to_9998": `starts_at = 'infinity'`, "task_ends_at_1900_to_9998": `ends_at = 'infinity'`,
			"task_failure_log_level_debug_info_warn_error": `failure_log_level = 'x'`, "task_migrate_needs_target": `type = 'DATABASE_MIGRATE'`,
			"task_order_needs_database": `sequential = true`, "task_spread_0_to_1_year": `spread = '-1 s'`, "task_aging_1_second_to_1_year": `aging = '0'`,
		},
		"concurrency_limit": {
			"concurrency_limit_name_1_to_200_bytes_no_control": `name = ''`, "concurrency_limit_type_1_to_100_bytes": `type = ''`, "concurrency_limit_queue_1_to_100_bytes": `queue = ''`,
			"concurrency_limit_key_path_1_to_20_names": `key_path = '{}'`, "concurrency_limit_max_running_from_0": `max_running = -1`, "concurrency_limit_rate_from_1": `rate = 0, per = '1 s'`,
			"concurrency_limit_per_1_ms_to_1_year": `rate = 1, per = '0'`, "concurrency_limit_burst_from_1": `rate = 1, per = '1 s', burst = 0`, "concurrency_limit_share_none_fair": `share = 'x'`,
			"concurrency_limit_weights_an_object": `weights = '[]'`, "concurrency_limit_weights_from_1_to_1000": `weights = '{"a": 0}'`, "concurrency_limit_not_before_1900_to_9998": `not_before = 'infinity'`,
			"concurrency_limit_rate_with_per": `rate = 1`, "concurrency_limit_burst_with_rate": `burst = 1`, "concurrency_limit_fair_with_key_path": `share = 'FAIR'`,
		},
		"task_type": {
			"task_type_check": `alias_of = 'OLD'`, "task_type_alias_harmless": `alias_of = 'SQL'`, "task_type_mapping_of_alias": `mapping = '{}'`,
			"task_type_mapping_check": `alias_of = 'NOOP', mapping = '[]'`,
		},
	}
	others := map[string]string{ // what only an INSERT can name, or needs another statement
		"task_dependency_not_itself": `INSERT INTO rowrun.task_dependency (task_id, depends_on_id) VALUES (1, 1)`,
		"task_type_type_check":       `INSERT INTO rowrun.task_type (type) VALUES ('')`,
	}
	says := func(constraint, sql string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), sql)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, sql)
		require.Equal(t, "23514 "+constraint, refused.Code+" "+refused.ConstraintName, sql)
		require.NotContains(t, refused.Message, "violates check constraint", sql)
		require.NotEmpty(t, refused.Hint, sql)
	}
	var said []string
	for table, cases := range tables {
		for constraint, set := range cases {
			says(constraint, `UPDATE rowrun.`+table+` SET `+set)
			said = append(said, constraint)
		}
	}
	for constraint, sql := range others {
		says(constraint, sql)
		said = append(said, constraint)
	}
	says("task_name_up_to_200_bytes", `INSERT INTO rowrun.task (type, name) VALUES ('NOOP', `+long+`)`)
	says("task_retention_by_status_0_to_100_years", `INSERT INTO rowrun.task (type, retention_by_status) VALUES ('NOOP', '{"DONE": [1]}')`)
	says("plan_parallel_limit_from_1", `INSERT INTO rowrun.plan (parallel_limit) VALUES (0)`)
	says("concurrency_limit_max_running_from_0", `INSERT INTO rowrun.concurrency_limit (name, max_running) VALUES ('m', -1)`)

	// None is left out, and none is made up. Ids, waves and outcomes are given by nobody but the owner; documents and a schedule of a plan's task are
	// refused in other words.
	require.ElementsMatch(t, said, query[[]string](t, owner, `SELECT coalesce(array_agg(c.conname::text), '{}') FROM pg_constraint c
		WHERE c.contype = 'c'
		  AND c.conrelid = ANY ('{rowrun.plan,rowrun.task,rowrun.task_dependency,rowrun.task_run,rowrun.webhook,rowrun.concurrency_limit,rowrun.task_type}'::regclass[])
		  AND c.conname !~ '_(id_from_1|wave_positive|outcome_an_end|up_to_1_mib_and_1000_levels|schedule_without_plan)$'`))
}

// What is refused without a CHECK has a hint, too.
func TestAWebhookThatIsRefusedHasAHint(t *testing.T) {
	t.Parallel()
	conn := inRole(t, storetest.New(t), "rowrun_author")
	for _, values := range []string{`(url, project) VALUES ('https://a.example', '')`, `(url) VALUES ('ftp://a.example')`, `(url, format) VALUES ('https://a.example', 'x')`} {
		_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.webhook `+values)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, values)
		require.NotEmpty(t, refused.Hint, values)
	}
}
