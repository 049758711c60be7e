package commands

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/doctor"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/connect"
	"github.com/rowrun/rowrun/store/storetest"
)

// copyOf makes a copy of a database that nobody is connected to, on the same server.
func copyOf(t *testing.T, url string) string {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	name := "copy_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	admin := rowruntest.Connect(t, strings.Replace(url, "/"+config.Database, "/postgres", 1))
	copied := strings.Replace(url, "/"+config.Database, "/"+name, 1)
	rowruntest.Eventually(t, "nobody is connected", func() bool {
		_, err := admin.Exec(t.Context(), `CREATE DATABASE `+name+` TEMPLATE `+pgx.Identifier{config.Database}.Sanitize())
		return err == nil
	})
	t.Cleanup(func() {
		storetest.DropSlots(t, copied)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err := admin.Exec(ctx, `DROP DATABASE `+name+` WITH (FORCE)`)
		require.NoError(t, err)
	})
	return copied
}

// origin holds a run that its replica executes, long gone by its heartbeat, one that waits, and a message to send.
const origin = `
INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, concurrency) VALUES ('theirs', now() - interval '1 hour', '1 s', '{NOOP}', 5);
INSERT INTO rowrun.webhook (name, url) VALUES ('theirs', 'http://127.0.0.1:1/');
INSERT INTO rowrun.plan (name) VALUES ('theirs');
INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload, next_attempt_at)
SELECT w.id, p.id, 1, 'PIPELINE_FAILED', 'msg_1', '{}', now() - interval '1 hour' FROM rowrun.webhook w, rowrun.plan p;
INSERT INTO rowrun.task (name, type) VALUES ('runs', 'NOOP'), ('waits', 'NOOP');
INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task ORDER BY id;
UPDATE rowrun.task_run SET status = 'AVAILABLE' WHERE status = 'PENDING';
UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'theirs' WHERE task_id = (SELECT id FROM rowrun.task WHERE name = 'runs')`

func runStatuses(t *testing.T, conn *pgx.Conn) (text string) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT string_agg(t.name || ' ' || r.status, ', ' ORDER BY r.id) ||
    (SELECT format('; %s attempts, %s replicas, slots %s', sum(attempts), (SELECT count(*) FROM rowrun.replica_heartbeat),
                   (SELECT count(*) FROM pg_replication_slots WHERE database = current_database())) FROM rowrun.webhook_delivery)
FROM rowrun.task_run r JOIN rowrun.task t ON t.id = r.task_id`).Scan(&text))
	return text
}

const untouched = "runs RUNNING, waits AVAILABLE; 0 attempts, 1 replicas, slots 0"

// quickly are the arguments of a replica that does everything soon, and these.
func quickly(more ...string) []string {
	return append([]string{"--heartbeat-interval", "100ms", "--stale-after", "1s", "--stale-sweep-interval", "100ms", "--sweep-interval", "100ms"}, more...)
}

// A copy does nothing of its origin's work, takes no slot and fails no run, until a person has said what it is.
func TestCopiedDatabaseWaitsForAPerson(t *testing.T) {
	t.Parallel()
	for name, copied := range map[string]bool{"new": true, "moved": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := storetest.New(t)
			conn, err := pgx.Connect(t.Context(), first)
			require.NoError(t, err)
			rowruntest.Change(t, conn, origin)
			var id string
			require.NoError(t, conn.QueryRow(t.Context(), `SELECT id::text FROM rowrun.deployment`).Scan(&id))
			connect.Close(t.Context(), conn)
			second := copyOf(t, first)
			conn = rowruntest.Connect(t, second)
			replica := startServing(t, second, quickly("--stream-source", "wal")...)

			var text string
			rowruntest.Eventually(t, "readyz names the command", func() bool {
				var code int
				code, text = replica.status(t, "/readyz")
				return code == http.StatusServiceUnavailable && strings.Contains(text, "rowrun migrate deployment new")
			})
			require.Contains(t, text, id)
			<-time.After(2 * time.Second) // longer than each of its intervals, and than its lease
			require.Equal(t, untouched, runStatuses(t, conn))
			_, findings := diagnosis(t, second)
			require.Contains(t, one(t, findings, "deployment", doctor.Warning).Fix, "rowrun migrate deployment")
			got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": second}, "stream", "drop-slot")
			require.Equal(t, cli.ExitFailed, got.Code)
			require.Contains(t, got.Stderr, "the slot is the origin's")

			got = rowrun(t.Context(), t, map[string]string{"DATABASE_URL": second}, "migrate", "deployment", name)
			require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
			if copied {
				require.Contains(t, got.Stdout, "2 unfinished runs and 1 messages")
			}
			replica.awaitReady(t)
			rowruntest.Eventually(t, "the work goes on", func() bool {
				now := runStatuses(t, conn)
				return strings.HasPrefix(now, "runs FAILED, waits DONE; ") && !strings.Contains(now, "; 0 attempts") && strings.HasSuffix(now, "slots 1")
			})
			var now string
			require.NoError(t, conn.QueryRow(t.Context(), `SELECT id::text FROM rowrun.deployment`).Scan(&now))
			require.Equal(t, copied, now != id)
			_, findings = diagnosis(t, second)
			require.Empty(t, of(findings, "deployment"))
			if !copied {
				return
			}
			got = rowrun(t.Context(), t, map[string]string{"DATABASE_URL": second}, "migrate", "deployment", "new")
			require.Equal(t, cli.ExitFailed, got.Code)
			require.Contains(t, got.Stderr, "replicas of this deployment are alive")
		})
	}
}

// What the command says keeps a copy from its origin's work, and from that of its schedules.
func TestCopyIsKeptFromItsOriginsWork(t *testing.T) {
	t.Parallel()
	first := storetest.New(t)
	conn, err := pgx.Connect(t.Context(), first)
	require.NoError(t, err)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (name, type, schedule) VALUES ('often', 'NOOP', '@every 1s')`)
	connect.Close(t.Context(), conn)
	second := copyOf(t, first)
	conn = rowruntest.Connect(t, second)
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": second}, "migrate", "deployment", "new")
	require.Equal(t, cli.ExitDone, got.Code, got.Stderr)
	_, statements, found := strings.Cut(got.Stdout, "1 unfinished runs and 0 messages came along: replicas run and send them here too. To prevent it, before one starts:\n")
	require.True(t, found, got.Stdout)
	rowruntest.Change(t, conn, statements)
	startServing(t, second, quickly()...).awaitReady(t)
	<-time.After(2 * time.Second) // longer than a tick, and than each of its intervals
	var begun int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM rowrun.task_run WHERE started_at IS NOT NULL`).Scan(&begun))
	require.Zero(t, begun)
}

// The ledger's identity is the one that the person gave, not the one that the replica found when it started.
func TestCopyWritesALedgerOfItsOwn(t *testing.T) {
	t.Parallel()
	second, target := copyOf(t, storetest.New(t)), storetest.Empty(t)
	conn := rowruntest.Connect(t, second)
	path := filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.WriteFile(path, []byte(target), 0o600))
	replica := startServing(t, second, quickly("--config", rowruntest.ConfigFile(t, "databases: {orders: {url: 'file:"+path+"'}}"))...)
	rowruntest.Eventually(t, "it waits", func() bool {
		_, text := replica.status(t, "/readyz")
		return strings.Contains(text, "rowrun migrate deployment")
	})
	rowruntest.Change(t, conn, `SELECT rowrun.renew_deployment(true)`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (type, database_id, version, payload) VALUES ('DATABASE_MIGRATE', 'orders', '1', '{"sql": "CREATE TABLE made ()"}');
INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task`)
	var id int64
	var own, ledger string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT (SELECT id FROM rowrun.task_run), id::text FROM rowrun.deployment`).Scan(&id, &own))
	awaitStatus(t, conn, id, "DONE")
	require.NoError(t, rowruntest.Connect(t, target).QueryRow(t.Context(), `SELECT deployment::text FROM rowrun_migration.ledger`).Scan(&ledger))
	require.Equal(t, own, ledger)
}

// A copy that takes the database's place under a running replica ends its term.
func TestCopyUnderARunningReplicaIsNoticed(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	replica := startServing(t, url, quickly()...)
	replica.awaitReady(t)
	rowruntest.Change(t, conn, `UPDATE rowrun.deployment SET database_oid = database_oid + 1`)
	rowruntest.Eventually(t, "readyz says so", func() bool {
		code, text := replica.status(t, "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "rowrun migrate deployment")
	})
	id := insertRun(t, conn, "NOOP", "{}", nil)
	<-time.After(time.Second)
	var status string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT status FROM rowrun.task_run WHERE id = $1`, id).Scan(&status))
	require.Contains(t, []string{"PENDING", "AVAILABLE"}, status)
	rowruntest.Change(t, conn, `SELECT rowrun.renew_deployment(false)`)
	awaitStatus(t, conn, id, "DONE")
}
