package planfile

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

// folder writes files and returns the directory.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "release")
	require.NoError(t, os.Mkdir(dir, 0o750))
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func TestDirectoryOfMigrationsIsAPlan(t *testing.T) {
	t.Parallel()
	const table = "\ufeffCREATE TABLE a (b text); -- 名"
	dir := folder(t, map[string]string{
		"orders/V1__a table.sql": table, "orders/V1.10__later.sql": "SELECT 10", "orders/deep/V1_9__between.sql": "SELECT 9",
		"orders/U1__undo.sql": "DROP TABLE a", "orders/README.md": "no migration", "orders/.hidden/V7__x.sql": "SELECT 1",
		"payments/V20261123.1__index.sql":       "-- why\n-- rowrun: transaction=false\nCREATE INDEX CONCURRENTLY",
		"payments/V20261123.2__vacuum.sql":      "VACUUM",
		"payments/V20261123.2__vacuum.sql.conf": "executeInTransaction=false\n",
	})
	plan, err := Read(dir, Options{})
	require.NoError(t, err)
	require.Equal(t, "release", plan.Name)
	require.Equal(t, "default", plan.Project)
	require.Equal(t, []string{"orders/U1__undo.sql: undo migrations are run by nobody"}, plan.Ignored)
	var said []string
	for _, task := range plan.Tasks {
		require.Equal(t, "DATABASE_MIGRATE", task.Type)
		said = append(said, task.Name+" "+*task.DatabaseID+" "+*task.Version+" "+string(task.Payload))
	}
	require.Equal(t, []string{
		`orders/V1__a table.sql orders 1 {"sql":"CREATE TABLE a (b text); -- 名"}`,
		`orders/deep/V1_9__between.sql orders 1.9 {"sql":"SELECT 9"}`,
		`orders/V1.10__later.sql orders 1.10 {"sql":"SELECT 10"}`,
		`payments/V20261123.1__index.sql payments 20261123.1 {"sql":"-- why\n-- rowrun: transaction=false\nCREATE INDEX CONCURRENTLY","transaction":false}`,
		`payments/V20261123.2__vacuum.sql payments 20261123.2 {"sql":"VACUUM","transaction":false}`,
	}, said)
	sum := sha256.Sum256([]byte(table))
	require.Equal(t, hex.EncodeToString(sum[:]), plan.Tasks[0].Hash, "what sha256sum shows")

	plan, err = Read(dir, Options{Name: "n", Project: "p", Database: "all"})
	require.NoError(t, err)
	require.Equal(t, "all", *plan.Tasks[0].DatabaseID)
	require.Equal(t, "n", plan.Name)
}

func TestWhatIsWrongWithFilesIsSaidWithTheirName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		says  string
	}{
		"no file":          {map[string]string{"README.md": ""}, "has no task; accepted: V1__name.sql"},
		"one underscore":   {map[string]string{"orders/V1_name.sql": "SELECT 1"}, "V1_name.sql: this name says no version, and the file would be left out"},
		"small letter":     {map[string]string{"orders/v1__name.sql": "SELECT 1"}, "this name says no version"},
		"repeatable":       {map[string]string{"orders/R__view.sql": "SELECT 1"}, "repeatable migrations have no version"},
		"which database":   {map[string]string{"V1__a.sql": "SELECT 1"}, "is a migration of which database? accepted: --database NAME"},
		"same version":     {map[string]string{"orders/V1__a.sql": "SELECT 1", "orders/V01.0__b.sql": "SELECT 1"}, "have the same version"},
		"empty":            {map[string]string{"orders/V1__a.sql": " \n"}, "orders/V1__a.sql: is empty"},
		"no text":          {map[string]string{"orders/V1__a.sql": "SELECT '\xff'"}, "orders/V1__a.sql: is not UTF-8 text"},
		"a number too big": {map[string]string{"orders/V123456789012345678901__a.sql": "SELECT 1"}, "this name says no version"},
	} {
		_, err := Read(folder(t, c.files), Options{})
		var wrong *cli.UsageError
		require.ErrorAs(t, err, &wrong, name)
		require.ErrorContains(t, err, c.says, name)
	}
	_, err := Read("/nowhere", Options{})
	require.ErrorContains(t, err, "/nowhere: no such file")
}

func TestYAMLIsAPlan(t *testing.T) {
	t.Parallel()
	const text = `
plan: release 7
project: shop
parallel_limit: 4
on_failure: STOP
on_finish: tidy up
tasks:
  - {name: table, database: orders, version: 1.10, file: sql/table.sql, timeout: 10m}
  - name: fill
    database: orders
    sql: INSERT INTO a VALUES (1)
    depends_on: [table]
    aging: 10m
    retention: {DONE: 24h, FAILED: 2160h}
  - name: call
    type: HTTP
    payload: {path: /done, body: {n: 1}}
    max_attempts: 3
    retry_delay: 5s
    labels: {team: 发布}
    retention: 0
    failure_log_level: warn
`
	dir := folder(t, map[string]string{"plan.yaml": text, "sql/table.sql": "-- rowrun: transaction=false\nCREATE TABLE a (b int)"})
	plan, err := Read(filepath.Join(dir, "plan.yaml"), Options{})
	require.NoError(t, err)
	require.Equal(t, "release 7", plan.Name)
	require.Equal(t, "shop", plan.Project)
	require.Equal(t, 4, *plan.ParallelLimit)
	require.Equal(t, "STOP", *plan.OnFailure)
	require.Equal(t, "tidy up", *plan.OnFinish)
	require.Len(t, plan.Tasks, 3)
	require.Equal(t, "DATABASE_MIGRATE", plan.Tasks[0].Type)
	require.Equal(t, "1.10", *plan.Tasks[0].Version, "no number")
	require.InDelta(t, 600, *plan.Tasks[0].Timeout, 0)
	require.Contains(t, string(plan.Tasks[0].Payload), `"transaction":false`)
	require.Equal(t, "SQL", plan.Tasks[1].Type)
	require.Equal(t, []string{"table"}, plan.Tasks[1].DependsOn)
	require.InDelta(t, 600, *plan.Tasks[1].Aging, 0)
	require.Equal(t, map[string]string{"DONE": "86400 s", "FAILED": "7776000 s"}, plan.Tasks[1].RetentionByStatus)
	require.Nil(t, plan.Tasks[1].Retention)
	require.Zero(t, *plan.Tasks[2].Retention)
	require.Equal(t, "warn", *plan.Tasks[2].FailureLogLevel)
	require.JSONEq(t, `{"path": "/done", "body": {"n": 1}}`, string(plan.Tasks[2].Payload))
	again, err := Read(filepath.Join(dir, "plan.yaml"), Options{})
	require.NoError(t, err)
	for i := range plan.Tasks {
		require.Equal(t, plan.Tasks[i].Hash, again.Tasks[i].Hash)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sql/table.sql"), []byte("CREATE TABLE a (b text)"), 0o600))
	again, err = Read(filepath.Join(dir, "plan.yaml"), Options{})
	require.NoError(t, err)
	require.NotEqual(t, plan.Tasks[0].Hash, again.Tasks[0].Hash)
	require.Equal(t, plan.Tasks[1].Hash, again.Tasks[1].Hash)
}

// What was applied by an earlier release is as it was, as long as a file says the same.
func TestAHashIsTheSameInEachRelease(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"plan.yaml": "tasks:\n- {name: a, type: NOOP}"})
	plan, err := Read(filepath.Join(dir, "plan.yaml"), Options{})
	require.NoError(t, err)
	require.Equal(t, hashOf([]byte(`{"name":"a","type":"NOOP","queue":null,"database_id":null,"version":null,"sequential":null,"payload":{},"priority":null,"timeout":null,`+
		`"progress_timeout":null,"max_attempts":null,"retry_delay":null,"on_stale":null,"depends_on":null,"labels":null}`)), plan.Tasks[0].Hash)
}

func TestWhatIsWrongInYAMLIsSaidWithItsLine(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"tasks:\n- {name: a, type: NOOP, dependson: [b]}": `line 2: unknown key "dependson"; accepted: name, type`,
		"tsks: []": `did you mean tasks?`,
		"tasks:\n- {name: a, type: NOOP, depends_on: [b]}":         `task "a" depends on "b", which isn't among them`,
		"tasks:\n- {name: a}":                                      `task "a": type is missing`,
		"tasks:\n- {name: a, sql: x, file: y}":                     "only one of sql, file and payload",
		"tasks:\n- {name: a, type: NOOP, timeout: soon}":           `line 2: "soon" is not accepted; accepted: a duration`,
		"tasks:\n- {name: a, type: NOOP}\n- {name: a, type: NOOP}": `two tasks are named "a"`,
		"tasks:\n- {type: NOOP}":                                   `the name "" is not accepted`,
		"tasks:\n- {name: a, type: NOOP, retention: {DOWN: 1h}}":   `line 2: unknown key "DOWN"; accepted: DONE, FAILED, CANCELED`,
		"tasks:\n- {name: a, type: NOOP, retention: [1h]}":         `line 2: "" is not accepted; accepted: a duration`,
		"tasks: []\n---\ntasks: []":                                "one YAML document is accepted",
		"[]":                                                       "a mapping is expected here",
	} {
		dir := folder(t, map[string]string{"plan.yaml": text})
		_, err := Read(filepath.Join(dir, "plan.yaml"), Options{})
		require.ErrorContains(t, err, says, text)
	}
}

func TestYAMLOfTheDocsIsAccepted(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/plans.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(page), "```yaml\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	dir := folder(t, map[string]string{"plan.yaml": block, "sql/table.sql": "CREATE TABLE a (b int)"})
	plan, err := Read(filepath.Join(dir, "plan.yaml"), Options{})
	require.NoError(t, err)
	require.Equal(t, "release 7", plan.Name)
	require.Len(t, plan.Tasks, 3)
}

// A link to a directory would be passed by, and its migrations never run; the directory itself may be named by a link.
func TestLinksToDirectoriesAreRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"migrations/orders/V1__a.sql": "SELECT 1", "shared/V1__b.sql": "SELECT 2"})
	current := filepath.Join(dir, "current")
	require.NoError(t, os.Symlink("migrations", current))
	plan, err := Read(current, Options{})
	require.NoError(t, err)
	require.Len(t, plan.Tasks, 1)
	require.Equal(t, "current", plan.Name)
	require.NoError(t, os.Symlink("../../shared/V1__b.sql", filepath.Join(dir, "migrations", "orders", "V2__b.sql")))
	plan, err = Read(current, Options{})
	require.NoError(t, err)
	require.Len(t, plan.Tasks, 2, "that of a file is read")

	require.NoError(t, os.Symlink("../shared", filepath.Join(dir, "migrations", "payments")))
	_, err = Read(current, Options{})
	require.ErrorContains(t, err, "payments: is a link to a directory, which is not followed; accepted: the directory itself")
}
