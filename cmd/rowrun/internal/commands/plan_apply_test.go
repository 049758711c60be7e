package commands

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
)

// migrationFolder is a directory of migrations that a test writes to.
type migrationFolder struct {
	t   *testing.T
	dir string
}

func (f migrationFolder) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	require.NoError(f.t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(f.t, os.WriteFile(path, []byte(text), 0o600))
}

func newMigrations(t *testing.T) migrationFolder {
	t.Helper()
	return migrationFolder{t, filepath.Join(t.TempDir(), "release")}
}

func hexOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestPlanApplyMakesOneSetAndRefusesWhatWasApplied(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	f := newMigrations(t)
	f.write("orders/V1__a.sql", "SELECT 1")
	f.write("orders/V2__b.sql", "SELECT 2")

	table, said := s.does("plan", "apply", f.dir, "--dry-run")
	require.Regexp(t, `(?m)^make +NOT_STARTED +orders/V1__a.sql +orders +1 +`+hexOf("SELECT 1")[:12]+`$`, table)
	require.Equal(t, "a new plan (release): would be: 2 new, 0 changed, 0 as they were, 0 refused; 0 runs made\n", said)
	_, said = s.does("plan", "list")
	require.Contains(t, said, "no plan", "a dry run changes nothing")

	id, said := s.does("plan", "apply", f.dir)
	require.Equal(t, "1\n", id)
	require.Equal(t, "plan 1 (release): 2 new, 0 changed, 0 as they were, 0 refused; 2 runs made\n", said)
	id, said = s.does("plan", "apply", f.dir)
	require.Equal(t, "1\n", id)
	require.Equal(t, "plan 1 (release): 0 new, 0 changed, 2 as they were, 0 refused; 0 runs made\n", said)

	end(t, conn, 1, "DONE")
	end(t, conn, 2, "FAILED")
	f.write("orders/V2__b.sql", "SELECT 22")
	f.write("orders/V3__c.sql", "SELECT 3")
	_, said = s.does("plan", "apply", f.dir)
	require.Contains(t, said, "1 new, 1 changed, 1 as they were, 0 refused; 2 runs made", "what failed and was mended runs again")
	var sql, hash string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT payload ->> 'sql', labels ->> 'sha256' FROM rowrun.task WHERE id = 2").Scan(&sql, &hash))
	require.Equal(t, "SELECT 22", sql)
	require.Equal(t, hexOf("SELECT 22"), hash)

	f.write("orders/V1__a.sql", "SELECT 1;")
	s.fails(cli.ExitFailed, "orders/V1__a.sql: it is DONE\n    applied with SHA-256 "+hexOf("SELECT 1")+"\n    the file has         "+hexOf("SELECT 1;"), "plan", "apply", f.dir)
	s.fails(cli.ExitFailed, "may not be any more", "plan", "apply", f.dir, "--dry-run")
	f.write("orders/V1__a.sql", "SELECT 1")
	f.write("orders/V3__c.sql", "SELECT 33")
	s.fails(cli.ExitFailed, "orders/V3__c.sql: it is PENDING", "plan", "apply", f.dir)

	require.NoError(t, os.Remove(filepath.Join(f.dir, "orders/V3__c.sql")))
	_, said = s.does("plan", "apply", f.dir)
	require.Contains(t, said, "orders/V3__c.sql was applied and is not there any more: it stays in the plan, PENDING\n")

	s.fails(cli.ExitFailed, "plan 1 (release) has applied it: --name release goes on with that one, --again applies it here too", "plan", "apply", f.dir, "--name", "renamed")
	answer, _ := s.does("plan", "apply", f.dir, "--name", "renamed", "--again", "-o", "json")
	var shown struct {
		PlanID int64 `json:"plan_id"`
		Runs   int
		Tasks  []struct{ Name, Action, SHA256 string }
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &shown))
	require.Equal(t, int64(2), shown.PlanID)
	require.Equal(t, 2, shown.Runs)
	require.Equal(t, "MAKE", shown.Tasks[0].Action)
}

func TestPlanApplyTakesYAMLAndItsDependencies(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	f := newMigrations(t)
	depends := func() (text string) {
		t.Helper()
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT coalesce(string_agg(k.name || ' needs ' || d.name, ', ' ORDER BY k.name, d.name), '')
			FROM rowrun.task_dependency x JOIN rowrun.task k ON k.id = x.task_id JOIN rowrun.task d ON d.id = x.depends_on_id`).Scan(&text))
		return text
	}
	f.write("plan.yaml", "plan: 发布\nparallel_limit: 2\ntasks:\n- {name: c, type: MINE, depends_on: [a, b]}\n- {name: a, type: MINE, max_attempts: 3, retry_delay: 1m, timeout: 5m}\n- {name: b, type: MINE, depends_on: [a]}\n")
	s.does("plan", "apply", filepath.Join(f.dir, "plan.yaml"))
	require.Equal(t, "b needs a, c needs a, c needs b", depends())
	var limit, attempts int
	var delay string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT p.parallel_limit, k.max_attempts, k.retry_delay::text FROM rowrun.plan p JOIN rowrun.task k ON k.plan_id = p.id WHERE k.name = 'a'").Scan(&limit, &attempts, &delay))
	require.Equal(t, []any{2, 3, "00:01:00"}, []any{limit, attempts, delay})
	s.does("plan", "cancel", "发布")
	f.write("plan.yaml", "plan: 发布\nparallel_limit: 2\ntasks:\n- {name: c, type: MINE, depends_on: [b]}\n- {name: a, type: MINE, max_attempts: 3, retry_delay: 1m, timeout: 5m}\n- {name: b, type: MINE, depends_on: [a]}\n")
	_, said := s.does("plan", "apply", filepath.Join(f.dir, "plan.yaml"))
	require.Contains(t, said, "0 new, 1 changed, 2 as they were, 0 refused; 1 runs made")
	require.Equal(t, "b needs a, c needs b", depends())

	f.write("circle.yaml", "tasks:\n- {name: a, type: MINE, depends_on: [b]}\n- {name: b, type: MINE, depends_on: [a]}\n")
	got := rowrun(t.Context(), t, s.variables, "plan", "apply", filepath.Join(f.dir, "circle.yaml"))
	require.Equal(t, cli.ExitFailed, got.Code)
	_, said = s.does("plan", "list", "--project", "default", "-o", "name")
	require.Empty(t, said)
	s.fails(cli.ExitUsage, "--database is for a directory", "plan", "apply", filepath.Join(f.dir, "circle.yaml"), "--database", "x")
	s.fails(cli.ExitUsage, "--wait and --timeout", "plan", "apply", f.dir, "--timeout", "1s")
}

// 10,000 files are one call, and one transaction: all or nothing. It takes less than 5 s on a machine that does nothing else.
// What a file says of aging, retention and the level of failures is written; what it doesn't say stays, as most files can't.
func TestPlanApplySaysHowLongRunsAreKept(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	f := newMigrations(t)
	path := filepath.Join(f.dir, "plan.yaml")
	for _, c := range []struct{ task, want string }{
		{`{name: a, type: MINE, aging: 10m, retention: {DONE: 24h, FAILED: 2160h}, failure_log_level: warn}`, `["00:10:00", null, {"DONE": "86400 s", "FAILED": "7776000 s"}, "warn"]`},
		{`{name: a, type: MINE, priority: 1}`, `["00:10:00", null, {"DONE": "86400 s", "FAILED": "7776000 s"}, "warn"]`},
		{`{name: a, type: MINE, aging: 1h, retention: 720h, failure_log_level: error}`, `["01:00:00", "720:00:00", null, "error"]`},
	} {
		f.write("plan.yaml", "plan: kept\ntasks:\n- "+c.task+"\n")
		s.does("plan", "apply", path)
		var got string
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT jsonb_build_array(aging, retention, retention_by_status, failure_log_level)::text FROM rowrun.task`).Scan(&got))
		require.Equal(t, c.want, got)
		end(t, conn, 1, "FAILED")
	}
	f.write("plan.yaml", "plan: kept\ntasks:\n- {name: a, type: MINE, failure_log_level: loud}\n")
	s.fails(cli.ExitFailed, `failure_log_level "loud" of a task is none of debug, info, warn, error`, "plan", "apply", path)
}

func TestPlanApplyOfTenThousandFiles(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	f := newMigrations(t)
	for i := range 10_000 {
		f.write(fmt.Sprintf("db%d/V%d__step.sql", i%10, i/10+1), fmt.Sprintf("SELECT %d -- a migration that says a little more than nothing", i))
	}
	begun := time.Now()
	_, said := s.does("plan", "apply", f.dir)
	t.Logf("10,000 files in %s", time.Since(begun))
	require.Contains(t, said, "10000 new, 0 changed, 0 as they were, 0 refused; 10000 runs made")
	var times int
	require.NoError(t, rowruntest.Connect(t, url).QueryRow(t.Context(), `SELECT count(DISTINCT created_at) FROM rowrun.task_run`).Scan(&times))
	require.Equal(t, 1, times)
	begun = time.Now()
	_, said = s.does("plan", "apply", f.dir)
	t.Logf("again in %s", time.Since(begun))
	require.Contains(t, said, "0 new, 0 changed, 10000 as they were")
}

// A plan that is there gets the limit and the way after a failure that the file says; what it doesn't say stays.
func TestPlanApplyBringsTheTermsUpToDate(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	f := newMigrations(t)
	path := filepath.Join(f.dir, "plan.yaml")
	write := func(terms string) {
		f.write("plan.yaml", "plan: release\n"+terms+"tasks:\n  - {name: a, type: NOOP}\n")
	}
	terms := func() (row string) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT concat_ws(' ', coalesce(parallel_limit, 0), on_failure) FROM rowrun.plan`).Scan(&row))
		return row
	}
	write("parallel_limit: 50\n")
	_, said := s.does("plan", "apply", path)
	require.NotContains(t, said, "becomes")
	require.Equal(t, "50 STOP_DATABASE", terms())

	write("parallel_limit: 1\non_failure: STOP\n")
	_, said = s.does("plan", "apply", path, "--dry-run")
	require.Contains(t, said, "parallel_limit would become 1; it was 50\non_failure would become STOP; it was STOP_DATABASE\n")
	require.Equal(t, "50 STOP_DATABASE", terms())
	_, said = s.does("plan", "apply", path)
	require.Contains(t, said, "parallel_limit becomes 1; it was 50\non_failure becomes STOP; it was STOP_DATABASE\n")
	require.Equal(t, "1 STOP", terms())
	write("")
	_, said = s.does("plan", "apply", path)
	require.NotContains(t, said, "becomes")
	require.Equal(t, "1 STOP", terms())
}
