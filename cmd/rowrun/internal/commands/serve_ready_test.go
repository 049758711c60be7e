package commands

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// sidecar makes a login with the rights of a sidecar and returns its name, quoted, and its way to the database.
func sidecar(t *testing.T, conn *pgx.Conn, url string) (role, as string) {
	t.Helper()
	name := "sidecar_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	rowruntest.Change(t, conn, `CREATE ROLE `+name+` LOGIN; GRANT rowrun_replica TO `+name)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_, err := conn.Exec(ctx, `DROP ROLE `+name)
		require.NoError(t, err)
	})
	return name, withUser(t, url, name)
}

// end stops a replica and waits until it is gone.
func (s *serving) end() {
	s.stop()
	<-s.code
}

// A replica that heartbeats and can't claim isn't ready, and says why.
func TestReplicaThatCanNotClaimIsNotReady(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	role, as := sidecar(t, conn, url)
	replica := startServing(t, as, quickly()...)
	defer replica.end()
	replica.awaitReady(t)
	rowruntest.Change(t, conn, `ALTER ROLE `+role+` CONNECTION LIMIT 1`)
	// Whichever connection comes first has the one place: it is the heartbeat's in the end, which may lose it again.
	rowruntest.Eventually(t, "readyz says so", func() bool {
		rowruntest.Change(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '`+role+`' AND query NOT LIKE '-- heartbeat%'
			AND backend_start < clock_timestamp() - interval '1 s'`) // a session needs time to say what it is for
		code, text := replica.status(t, "/readyz")
		var now struct {
			Checks map[string]struct {
				OK    bool
				Error string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(text), &now))
		return code == http.StatusServiceUnavailable && now.Checks["heartbeat"].OK && strings.Contains(now.Checks["claims"].Error, "nothing could be claimed for") &&
			strings.Contains(now.Checks["claims"].Error, "53300")
	})
	rowruntest.Change(t, conn, `ALTER ROLE `+role+` CONNECTION LIMIT -1`)
	replica.awaitReady(t)
}

// Settings that let statements succeed and do something else.
func TestReplicaWithoutTriggersOrRowsIsNotReady(t *testing.T) {
	t.Parallel()
	for harm, text := range map[string]string{
		`ALTER ROLE ROLE SET session_replication_role = replica`: "session_replication_role is replica",
		`ALTER TABLE rowrun.task_run ENABLE ROW LEVEL SECURITY`:  "row level security hides rows",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			url := storetest.New(t)
			conn := rowruntest.Connect(t, url)
			role, as := sidecar(t, conn, url)
			rowruntest.Change(t, conn, strings.Replace(harm, "ROLE ROLE", "ROLE "+role, 1))
			replica := startServing(t, as)
			defer replica.end()
			rowruntest.Eventually(t, text, func() bool {
				code, got := replica.status(t, "/readyz")
				return code == http.StatusServiceUnavailable && strings.Contains(got, text)
			})
		})
	}
}

// Connections that will be missing are missed at the start.
func TestServeSaysThatConnectionsAreMissing(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	role, as := sidecar(t, conn, url)
	rowruntest.Change(t, conn, `ALTER ROLE `+role+` CONNECTION LIMIT 2`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said, ended := make(chan string, 1000), make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--http-addr", ""}, cli.Environment{
			Stdin: strings.NewReader(""), Stdout: storetest.Lines(said), Stderr: storetest.Lines(said), Lookup: rowruntest.LookupIn(map[string]string{"DATABASE_URL": as}),
		})
	}()
	deadline := time.After(30 * time.Second)
	for found := false; !found; {
		select {
		case line := <-said:
			found = strings.Contains(line, "not all connections that a replica needs can be opened")
		case <-deadline:
			require.Fail(t, "nothing was said")
		}
	}
	cancel()
	for {
		select {
		case <-said:
		case <-ended:
			return
		}
	}
}
