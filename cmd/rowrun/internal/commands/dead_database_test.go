package commands

import (
	"encoding/json"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/doctor"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// deadDatabases are the ways in which a database doesn't answer, and what each is called.
func deadDatabases(t *testing.T) map[string]string {
	t.Helper()
	var config net.ListenConfig
	silent, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0") // the kernel takes the connection, and nobody answers
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	return map[string]string{
		"connection refused":     "postgres://someone:hunter2@127.0.0.1:1/app?sslmode=disable", // a port that is given to nobody
		"no answer in time":      "postgres://someone:hunter2@" + silent.Addr().String() + "/app?sslmode=disable",
		"wrong user or password": storetest.RefusingServer(t, "127.0.0.1:0", "28P01"),
	}
}

func TestStatusAndDoctorAnswerSoonWhereTheDatabaseIsDead(t *testing.T) {
	t.Parallel()
	for text, url := range deadDatabases(t) {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"DATABASE_URL": url}
			begun := time.Now()
			got := rowrun(t.Context(), t, env, "status")
			require.Less(t, time.Since(begun), 7*time.Second)
			require.Equal(t, cli.ExitFailed, got.Code)
			require.Contains(t, got.Stderr, text)

			env["ROWRUN_CONNECT_TIMEOUT"] = "1s"
			begun = time.Now()
			code, findings := diagnosis(t, url, "--connect-timeout", "1s")
			require.Less(t, time.Since(begun), 4*time.Second)
			require.Equal(t, cli.ExitFailed, code)
			require.Contains(t, one(t, findings, "database", doctor.Warning).Text, text)
			require.Subset(t, checks(findings), []string{"program", "environment", "address", "network", "unchecked"})
			require.Equal(t, text == "connection refused", len(of(findings, "network")) == 1, findings)
			shown, err := json.Marshal(findings)
			require.NoError(t, err)
			require.Contains(t, string(shown), "DATABASE_URL")
			require.NotContains(t, string(shown)+got.Stderr, "hunter2")

			begun = time.Now()
			got = rowrun(t.Context(), t, env, "doctor")
			require.Less(t, time.Since(begun), 4*time.Second)
			require.Equal(t, cli.ExitFailed, got.Code)
			require.Regexp(t, `(?m)^warning +database .*`+text, got.Stdout)
		})
	}
	got := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": "host=x"}, "status", "--connect-timeout", "0s")
	require.Equal(t, cli.ExitUsage, got.Code)
}

func TestDoctorReadsTheSidecarsFile(t *testing.T) {
	t.Parallel()
	url := storetest.RefusingServer(t, "127.0.0.1:0", "28P01")
	_, findings := diagnosis(t, url, "--config", rowruntest.ConfigFile(t, "databases: {orders: {url: env:NOT_SET}}"))
	require.Contains(t, one(t, findings, "config", doctor.Warning).Text, "NOT_SET")
	_, findings = diagnosis(t, url, "--config", rowruntest.ConfigFile(t, "databases: {orders: {url: 'host=x'}}"))
	require.Empty(t, of(findings, "config"))
	require.Contains(t, checks(findings), "config")
}
