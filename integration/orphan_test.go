package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// configFile writes what --config names.
func configFile(t *testing.T, text string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rowrun.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return []string{"--config", path}
}

func TestKilledSidecarEndsItsStatement(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	target := openDatabase(t, storetest.Empty(t))
	r := serve(t, d.url, rareSweeps(), configFile(t, fmt.Sprintf("databases: {orders: {url: %q}}", target.url)))
	id := d.job(t, "SQL", `{"sql": "CREATE TABLE half_done (id int); SELECT pg_sleep(600)"}`, columns{"database_id": "orders"})
	runs := func() bool {
		return ask[bool](t, target, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
			AND application_name = $1 AND state = 'active' AND query LIKE '%pg_sleep%')`, "rowrun:"+strconv.FormatInt(id, 10))
	}
	eventually(t, patience, "the statement", runs)
	r.kill(t)
	killed := time.Now()
	eventually(t, patience, "the end of the statement", func() bool { return !runs() })
	t.Logf("the statement ended %s after the sidecar", time.Since(killed))
	require.False(t, ask[bool](t, target, "SELECT to_regclass('half_done') IS NOT NULL"), "its transaction was rolled back")
}

func TestKilledSidecarEndsItsCommand(t *testing.T) {
	t.Parallel()
	d, pids := newDatabase(t), filepath.Join(t.TempDir(), "pids")
	// A command with a child in its group and one that has left it.
	script := `echo $$ >> "$1"; sleep 600 & echo $! >> "$1"; setsid sleep 600 & echo $! >> "$1"; echo ready >> "$1"; wait`
	r := serve(t, d.url, rareSweeps(), configFile(t, fmt.Sprintf("commands: {linger: {path: /bin/sh, args: [-c, %q, sh, %q]}}",
		strings.NewReplacer("{", "{{", "}", "}}").Replace(script), pids)))
	id := d.job(t, "COMMAND", `{"command": "linger"}`, nil)
	d.await(t, id, "RUNNING")
	var family []int
	eventually(t, patience, "the command and its children", func() bool {
		text, _ := os.ReadFile(pids) // not there yet
		words := strings.Fields(string(text))
		if len(words) != 4 {
			return false
		}
		for _, word := range words[:3] {
			pid, err := strconv.Atoi(word)
			require.NoError(t, err)
			family = append(family, pid)
		}
		return true
	})
	for _, pid := range family {
		require.NotZero(t, processState(pid))
	}
	r.kill(t)
	killed := time.Now()
	eventually(t, patience, "the end of the command's processes", func() bool {
		for _, pid := range family {
			if state := processState(pid); state != 0 && state != 'Z' {
				return false
			}
		}
		return true
	})
	t.Logf("its processes ended %s after the sidecar", time.Since(killed))
}
