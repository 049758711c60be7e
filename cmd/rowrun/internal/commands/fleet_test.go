package commands

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// The demonstration of docs/fleets.md: tenants in schemas of their own, migrated in waves, of which three fail.
func TestAFleetIsMigratedInWaves(t *testing.T) {
	t.Parallel()
	tenants := storetest.Count(30, 2000)
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, "CREATE TABLE public.tenant (name text PRIMARY KEY, env text NOT NULL)")
	rowruntest.Change(t, conn, "INSERT INTO public.tenant SELECT 'tenant_' || lpad(n::text, 4, '0'), 'prod' FROM generate_series(1, $1) n", tenants)
	for from := 1; from <= tenants; from += 100 { // one statement holds a lock for each table
		rowruntest.Change(t, conn, fmt.Sprintf(`DO $$ BEGIN FOR n IN %d..%d LOOP
			EXECUTE format('CREATE SCHEMA %%1$I CREATE TABLE account (id bigint PRIMARY KEY, email text)', 'tenant_' || lpad(n::text, 4, '0')); END LOOP; END $$`,
			from, min(from+99, tenants)))
	}
	// Two addresses that are alike: the unique index is refused there.
	var broken []string
	for n := range 3 {
		broken = append(broken, fmt.Sprintf("tenant_%04d", 4+n))
		rowruntest.Change(t, conn, "INSERT INTO "+broken[n]+".account VALUES (1, 'a@example.com'), (2, 'a@example.com')")
	}
	config := rowruntest.ConfigFile(t, `
databases_from:
  - query: SELECT name, env FROM public.tenant
    url: '`+url+`'
    target: '`+url+`&search_path={name}'
    refresh: 1s
`)
	f := newMigrations(t)
	f.write("V1__index.sql", "CREATE UNIQUE INDEX account_email ON account (email)")
	serving := startCommand(t, url, nil, "serve", "--http-addr", "127.0.0.1:0", "--sweep-interval", "500ms", "--config", config, "--migrate")
	defer serving.stop()

	_, said := s.does("plan", "apply", f.dir, "--config", config, "--to", "env=prod", "--wave", "1", "--wave", "50%", "--max-failures", "2")
	require.Contains(t, said, fmt.Sprintf("%d new", tenants))
	patience := time.Now().Add(30*time.Second + time.Duration(tenants)*100*time.Millisecond)
	until := func(want string) {
		t.Helper()
		var now string
		for now != want {
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT string_agg(status, ' ' ORDER BY wave) FROM rowrun.plan_wave_status").Scan(&now))
			require.True(t, time.Now().Before(patience), "waves are %s, and never %s", now, want)
		}
	}
	until("DONE STOPPED WAITING")
	shown, _ := s.does("plan", "show", "1", "--limit", "5")
	require.Regexp(t, `(?m)^2 +50% +STOPPED .*3 \(at most 2\)`, shown)
	require.Contains(t, shown, "FAILED")

	// Two are mended, and run again; the third is borne.
	for _, name := range broken[:2] {
		rowruntest.Change(t, conn, "DELETE FROM "+name+".account WHERE id = 2")
	}
	made, _ := s.does("plan", "wave", "resume", "1")
	require.Equal(t, "3", strings.TrimSpace(made))
	until("DONE DONE DONE")
	var done, failed, indexes int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT done, failed, (SELECT count(*) FROM pg_indexes WHERE indexname = 'account_email') FROM rowrun.plan_status`).
		Scan(&done, &failed, &indexes))
	require.Equal(t, []int{tenants - 1, 1, tenants - 1}, []int{done, failed, indexes})
}
