package commands

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// freeAddr is an address at which nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// lateDatabase is a way to the database of an address on which there is no server before come is called.
func lateDatabase(t *testing.T, address string) (way string, come func()) {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	u, err := url.Parse(address)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "late") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	words := u.Query()
	words.Set("host", dir)
	u.RawQuery = words.Encode()
	socket := fmt.Sprintf(".s.PGSQL.%d", config.Port)
	return u.String(), func() {
		require.NoError(t, os.Symlink(filepath.Join(config.Host, socket), filepath.Join(dir, socket)))
	}
}

// look asks for a path; 0: nobody answers.
func look(t *testing.T, addr, path string) (code int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// A probe of liveness must not end a process whose database isn't there yet: it is answered from the beginning, and readiness
// says what is waited for.
func TestLivenessIsAnsweredBeforeTheDatabaseIsThere(t *testing.T) {
	t.Parallel()
	for command, later := range map[string][]string{"serve": {"/metrics", "/status", "/api/v1/runs"}, "ui": {"/api/v1/runs", "/"}, "exporter": {"/metrics"}} {
		for _, comes := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, it comes: %t", command, comes), func(t *testing.T) {
				t.Parallel()
				way, come := lateDatabase(t, storetest.New(t))
				addr := freeAddr(t)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				ended := make(chan int, 1)
				go func() {
					ended <- run(ctx, []string{command, "--http-addr", addr}, cli.Environment{
						Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Lookup: rowruntest.LookupIn(map[string]string{"DATABASE_URL": way}),
					})
				}()
				answers := func(path string, want int) func() bool {
					return func() bool {
						code, _ := look(t, addr, path)
						return code == want
					}
				}
				rowruntest.Eventually(t, "it lives", answers("/livez", http.StatusOK))
				code, text := look(t, addr, "/readyz")
				require.Equal(t, http.StatusServiceUnavailable, code, text)
				require.Contains(t, text, "the database was not reached yet: no socket there")
				for _, path := range append([]string{"/nothing"}, later...) {
					code, text = look(t, addr, path)
					require.Equal(t, http.StatusServiceUnavailable, code, path+" "+text)
					require.Contains(t, text, "the database was not reached yet", path)
				}
				if comes {
					come()
					rowruntest.Eventually(t, "it is ready", answers("/readyz", http.StatusOK))
					for _, path := range later { // a busy machine may take longer over the first page than the server lets it
						rowruntest.Eventually(t, path, answers(path, http.StatusOK))
					}
					require.True(t, answers("/livez", http.StatusOK)())
				}
				stop()
				require.Equal(t, cli.ExitDone, <-ended)
				code, _ = look(t, addr, "/livez")
				require.Zero(t, code, "nothing is left behind")
			})
		}
	}
}

// What a person has to mend is told at once, whether or not there is a database: an address that is taken, and before that
// what is wrong in the flags.
func TestWrongAddressesAndFlagsAreToldBeforeTheDatabaseIsThere(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	way, _ := lateDatabase(t, storetest.New(t))
	env := map[string]string{"DATABASE_URL": way}
	for command, wrong := range map[string][]string{"serve": {"--http-prefix", "wrong"}, "ui": {"--http-prefix", "wrong"}, "exporter": {"--log-level", "wrong"}} {
		got := rowrun(t.Context(), t, env, command, "--http-addr", taken.Addr().String())
		require.Equal(t, cli.ExitFailed, got.Code, got.Stderr)
		require.Contains(t, got.Stderr, "--http-addr: listen for HTTP")
		require.Contains(t, got.Stderr, "address already in use")
		got = rowrun(t.Context(), t, env, append([]string{command, "--http-addr", taken.Addr().String()}, wrong...)...)
		require.Equal(t, cli.ExitUsage, got.Code, got.Stderr)
		require.Contains(t, got.Stderr, wrong[0])
	}
}
