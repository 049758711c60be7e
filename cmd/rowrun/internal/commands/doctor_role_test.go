package commands

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/doctor"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// A server of its own, as roles belong to the server. Each mend that doctor names is executed.
func TestDoctorFindsASidecarThatMayTooMuch(t *testing.T) {
	t.Parallel()
	dsn := storetest.On(t, ownServer(t, nil))
	conn := rowruntest.Connect(t, dsn)
	rowruntest.Change(t, conn, aliveReplica)
	code, findings := diagnosis(t, dsn)
	require.Equal(t, cli.ExitFailed, code)
	f := one(t, findings, "role", doctor.Warning)
	require.Contains(t, f.Text, "postgres is a superuser")
	rowruntest.Change(t, conn, f.Fix)
	as := withUser(t, dsn, "rowrun_sidecar")
	_, findings = diagnosis(t, as)
	require.Empty(t, of(findings, "role"))
	require.Empty(t, of(findings, "privileges"))

	rowruntest.Change(t, conn, `CREATE ROLE keeper`)
	for text, fault := range map[string]string{
		"CREATEROLE":                `ALTER ROLE rowrun_sidecar CREATEROLE`,
		"BYPASSRLS":                 `ALTER ROLE rowrun_sidecar BYPASSRLS`,
		"create in schema public":   `GRANT CREATE ON SCHEMA public TO PUBLIC`,
		"pg_execute_server_program": `GRANT pg_execute_server_program TO rowrun_sidecar`,
	} {
		rowruntest.Change(t, conn, fault)
		code, findings := diagnosis(t, as)
		require.Equal(t, cli.ExitFailed, code)
		f := one(t, findings, "role", doctor.Warning)
		require.Contains(t, f.Text, text)
		rowruntest.Change(t, conn, f.Fix)
		_, findings = diagnosis(t, as)
		require.Empty(t, of(findings, "role"), fault)
	}
	for text, fault := range map[string][2]string{
		"owns Rowrun's tables": {`GRANT keeper TO rowrun_sidecar; ALTER TABLE rowrun.task_run OWNER TO keeper`, `ALTER TABLE rowrun.task_run OWNER TO postgres; REVOKE keeper FROM rowrun_sidecar`},
		"owns the database":    {`ALTER DATABASE ` + pgx.Identifier{conn.Config().Database}.Sanitize() + ` OWNER TO rowrun_sidecar`, `ALTER DATABASE ` + pgx.Identifier{conn.Config().Database}.Sanitize() + ` OWNER TO postgres`},
	} {
		rowruntest.Change(t, conn, fault[0])
		_, findings = diagnosis(t, as)
		f := one(t, findings, "role", doctor.Warning)
		require.Contains(t, f.Text, text)
		require.Contains(t, f.Fix, "CREATE ROLE rowrun_sidecar LOGIN")
		rowruntest.Change(t, conn, fault[1])
	}
}

func TestDoctorFindsWhatOthersAttached(t *testing.T) {
	t.Parallel()
	dsn := storetest.On(t, ownServer(t, nil))
	conn := rowruntest.Connect(t, dsn)
	rowruntest.Change(t, conn, aliveReplica+`;
		CREATE ROLE app; CREATE SCHEMA app AUTHORIZATION app;
		GRANT TRIGGER, REFERENCES ON rowrun.task TO app; GRANT REFERENCES (id) ON rowrun.task_run TO PUBLIC; GRANT USAGE, CREATE ON SCHEMA rowrun TO app;
		CREATE TABLE app.child (id bigint REFERENCES rowrun.task_run ON DELETE CASCADE); ALTER TABLE app.child OWNER TO app;
		CREATE TABLE app."odd one" () INHERITS (rowrun.gate_mark); ALTER TABLE app."odd one" OWNER TO app;
		SET ROLE app; CREATE FUNCTION rowrun.took(int) RETURNS int LANGUAGE sql AS 'SELECT 1'; RESET ROLE;
		CREATE RULE also AS ON DELETE TO rowrun.task_run_log DO ALSO NOTIFY x`)
	code, findings := diagnosis(t, dsn)
	require.Equal(t, cli.ExitFailed, code)
	some := of(findings, "attached")
	var texts, fixes []string
	for _, f := range some {
		texts = append(texts, f.Text)
		fixes = append(fixes, f.Fix)
	}
	require.Len(t, some, 7, texts)
	all := strings.Join(texts, "\n")
	for _, text := range []string{
		"app has REFERENCES, TRIGGER on table rowrun.task:", "PUBLIC has REFERENCES (id) on table rowrun.task_run:", "app has CREATE on schema rowrun:",
		"a foreign key of table app.child, which app owns, leads to rowrun.task_run:", `table app."odd one", which app owns, inherits from rowrun.gate_mark:`,
		"rule also on rowrun.task_run_log", "FUNCTION rowrun.took(integer), in schema rowrun, belongs to app",
	} {
		require.Contains(t, all, text)
	}
	rowruntest.Change(t, conn, strings.Join(fixes, "\n"))
	_, findings = diagnosis(t, dsn)
	require.Empty(t, of(findings, "attached"))
}

// Who writes SQL tasks has the role of their target.
func TestDoctorFindsTargetsThatLendTheSidecarsRights(t *testing.T) {
	t.Parallel()
	dsn := storetest.On(t, ownServer(t, nil))
	conn := rowruntest.Connect(t, dsn)
	rowruntest.Change(t, conn, aliveReplica+`; CREATE ROLE sidecar LOGIN IN ROLE rowrun_replica; CREATE ROLE tasks LOGIN; CREATE ROLE helper LOGIN NOINHERIT IN ROLE sidecar`)
	as := withUser(t, dsn, "sidecar")
	path := filepath.Join(t.TempDir(), "rowrun.yml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join([]string{
		"databases:", "  mighty: {url: '" + dsn + "'}", "  'its;own': {url: '" + as + "'}", "  elsewhere: {url: '" + strings.Replace(withUser(t, dsn, "helper"), conn.Config().Database, "postgres", 1) + "'}",
		"  apart: {url: '" + withUser(t, dsn, "tasks") + "'}", "  gone: {url: 'postgres://nobody:geheim1234@127.0.0.1:1/none'}", "  unset: {url: 'env:NOWHERE_SET'}",
		"  shop: {url: 'mariadb://nobody:geheim1234@127.0.0.1:1/none'}", "  device: {url: 'sqlite:" + filepath.Join(t.TempDir(), "a.db") + "?mode=rwc'}",
		"  nofile: {url: 'sqlite:/not/there.db'}",
	}, "\n")), 0o600))
	code, findings := diagnosis(t, as, "--config", path)
	require.Equal(t, cli.ExitFailed, code)
	texts := map[string]doctor.Finding{}
	for _, f := range findings {
		if f.Check == "target" {
			texts[strings.Fields(f.Text)[1]] = f
			require.NotContains(t, f.Text+f.Fix, "geheim")
		}
	}
	require.Len(t, texts, 9)
	for name, want := range map[string]struct {
		severity doctor.Severity
		text     string
	}{
		"mighty": {doctor.Warning, "reached with postgres, who rules there"}, "its;own": {doctor.Warning, "sidecar, who may act as sidecar"},
		"elsewhere": {doctor.Warning, "helper, who may act as sidecar"}, "apart": {doctor.Fine, "reached with tasks"},
		"gone": {doctor.Warning, "can't be reached"}, "unset": {doctor.Note, "NOWHERE_SET"},
		"shop": {doctor.Warning, "(MariaDB) can't be reached"}, "device": {doctor.Fine, "(SQLite 3."}, "nofile": {doctor.Warning, "(SQLite) can't be reached"},
	} {
		require.Equal(t, want.severity, texts[name].Severity, texts[name].Text)
		require.Contains(t, texts[name].Text, want.text)
	}
	rowruntest.Change(t, conn, texts["its;own"].Fix)
	require.NoError(t, os.WriteFile(path, []byte("databases: {'its;own': {url: '"+withUser(t, dsn, "rowrun_on_its_own")+"'}}"), 0o600))
	_, findings = diagnosis(t, as, "--config", path)
	require.Empty(t, of(findings, "target"))
}

// What anybody who may insert has written into a row is no code in the commands that doctor has a person paste.
func TestDoctorsCommandsAreNoPlaceForOthersCode(t *testing.T) {
	t.Parallel()
	dsn := storetest.New(t)
	conn := rowruntest.Connect(t, dsn)
	rowruntest.Change(t, conn, aliveReplica)
	mark := filepath.Join(t.TempDir(), "taken")
	var names []string
	for _, form := range []string{"x; %s #", "$(%s)", "`%s`", "'; %s; '", `"; %s; "`, "a b", `\; %s`, "-x", "*", "| %s", "日本 && %s"} {
		names = append(names, strings.ReplaceAll(form, "%s", ">"+mark))
	}
	for i, name := range names {
		for j, kind := range []string{"SQL", name} {
			rowruntest.Change(t, conn, `INSERT INTO rowrun.task (id, type, queue, database_id) VALUES (`+strconv.Itoa(2*i+j+1)+`, `+quoteLiteral(kind)+`, `+quoteLiteral(name)+`, `+quoteLiteral(name)+`)`)
		}
	}
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task; SELECT * FROM rowrun.promote_runs(true)`)
	_, findings := diagnosis(t, dsn)
	some := of(findings, "orphans")
	require.Len(t, some, len(names)*2)
	for _, f := range some {
		out, _ := exec.CommandContext(t.Context(), "sh", "-c", `rowrun() { :; }; `+f.Fix).CombinedOutput()
		require.NoFileExists(t, mark, "%s: %s", f.Fix, out)
	}
}

// The roles of deploy/roles.sql, made by an owner who is no superuser, may what they are for and no more.
func TestRolesOfAnInstallation(t *testing.T) {
	t.Parallel()
	cluster := ownServer(t, map[string]string{"wal_level": "logical", "max_slot_wal_keep_size": "1GB"})
	dsn := cluster.SocketURL("postgres")
	root := rowruntest.Connect(t, dsn)
	rowruntest.Change(t, root, `CREATE ROLE owner LOGIN CREATEROLE; GRANT CREATE ON DATABASE `+pgx.Identifier{root.Config().Database}.Sanitize()+` TO owner`)
	asOwner := withUser(t, dsn, "owner")
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": asOwner}, "migrate", "up")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	text, err := os.ReadFile("../../../../deploy/roles.sql")
	require.NoError(t, err)
	owner := rowruntest.Connect(t, asOwner)
	rowruntest.Change(t, owner, string(text))
	rowruntest.Change(t, owner, aliveReplica)
	code, findings := diagnosis(t, withUser(t, dsn, "rowrun_sidecar"))
	for _, check := range []string{"privileges", "role", "attached"} {
		require.Contains(t, checks(findings), check)
		require.Empty(t, of(findings, check))
	}
	require.Equal(t, cli.ExitFailed, code, "the server of tests has no fsync")

	for role, may := range map[string][4]bool{ // a harmless task, an SQL task, a skip, a look
		"rowrun_sidecar": {false, false, true, true}, "app": {true, false, false, true}, "app_deploy": {true, true, false, true},
		"ops": {true, true, true, true}, "dashboards": {false, false, false, true},
	} {
		conn := rowruntest.Connect(t, withUser(t, dsn, role))
		for i, text := range []string{
			`SELECT rowrun.define_task('harmless', 'NOOP')`, `SELECT rowrun.define_task('sql', 'SQL', '{"sql": "SELECT 1"}', database_id => 'orders')`,
			`SELECT rowrun.skip_task(0)`, `SELECT count(*) FROM rowrun.task_run`,
		} {
			_, err := conn.Exec(t.Context(), text)
			require.Equal(t, may[i], store.SQLState(err) != "42501", "%s: %s: %v", role, text, err)
		}
	}
}

func quoteLiteral(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Targets that don't answer take no time from those behind them.
func TestDoctorLooksAtTargetsBehindThoseThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, silent.Close()) }() // its backlog takes connections, and nobody reads them
	path := filepath.Join(t.TempDir(), "rowrun.yml")
	lines := []string{"databases_from: [{file: " + filepath.Join(t.TempDir(), "none.yaml") + "}]", "databases:", "  z: {url: 'postgres://nobody@127.0.0.1:1/none'}"}
	for i := range 8 {
		lines = append(lines, fmt.Sprintf("  silent%d: {url: 'postgres://nobody@%s/none'}", i, silent.Addr()))
	}
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	_, findings := diagnosis(t, storetest.New(t), "--config", path)
	var texts []string
	for _, f := range of(findings, "target") {
		texts = append(texts, f.Text)
	}
	require.Len(t, texts, 10)
	require.Contains(t, texts[0], "databases_from[0]")
	for i := range 8 {
		require.Contains(t, texts[1+i], fmt.Sprintf("database silent%d can't be reached", i))
	}
	require.Contains(t, texts[9], "database z can't be reached, its runs will fail: connection refused")
}
