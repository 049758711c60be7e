package replica

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/connect"
)

// parse reads a serve configuration as the command does.
func parse(variables map[string]string, args ...string) (Config, error) {
	var config Config
	serve := &cobra.Command{Use: "serve"}
	config.Register(serve.Flags())
	config.RegisterShards(serve.Flags())
	if err := serve.ParseFlags(args); err != nil {
		return config, err
	}
	lookup := rowruntest.LookupIn(variables)
	if err := cli.ApplyEnvironment(serve, lookup); err != nil {
		return config, err
	}
	return config, config.Validate(lookup)
}

func TestDefaultsAreTheContracts(t *testing.T) {
	t.Parallel()
	c, err := parse(nil, "--database-url", rowruntest.SomeURL, "--replica-name", "one")
	require.NoError(t, err)
	c.lookup, c.flags = nil, nil // functions can't be compared
	require.Equal(t, Config{
		Database: database.Config{Way: connect.Way{
			URL: rowruntest.SomeURL, DirectURL: rowruntest.SomeURL, Source: "--database-url", DirectSource: "--direct-url",
		}},
		Log:         cli.LogConfig{Level: "info", Format: "json"},
		ReplicaName: "one", Role: "worker", Concurrency: 20, Queues: []string{"default"}, Types: []string{"NOOP"},
		DatabaseConns:     10,
		HeartbeatInterval: 10 * time.Second, StaleAfter: time.Minute, StaleSweepInterval: 30 * time.Second,
		SweepInterval: 5 * time.Second, CleanupInterval: time.Hour, Retention: 720 * time.Hour,
		TaskTimeout: time.Hour, DrainTimeout: 30 * time.Second, StuckLimit: 5, MaxBatch: 1000, Recovery: "auto",
		HTTPAddr: "127.0.0.1:8484", StreamSource: "auto", Wake: "auto",
		Dashboard: Dashboard{UI: "on"},
	}, c)
}

// An admin runs nothing, whatever else the environment of all replicas says.
func TestAdminTakesNoTypes(t *testing.T) {
	t.Parallel()
	c, err := parse(map[string]string{"ROWRUN_ROLE": "admin", "ROWRUN_APP_URL": "http://127.0.0.1:8080"}, "--database-url", rowruntest.SomeURL)
	require.NoError(t, err)
	require.True(t, c.Admin())
	require.Empty(t, c.Types)
	require.Zero(t, c.slots())
	x, err := newExecutors(&c)
	require.NoError(t, err)
	defer x.close()
	require.Empty(t, x.byType)
	_, err = parse(nil, "--database-url", rowruntest.SomeURL, "--role", "admin", "--types", "NOOP")
	require.ErrorContains(t, err, "--types: is not accepted with --role admin")
	_, err = parse(nil, "--database-url", rowruntest.SomeURL, "--role", "leader")
	require.Error(t, err)
	_, err = parse(nil, "--database-url", rowruntest.SomeURL, "--recovery", "on")
	require.ErrorContains(t, err, `invalid argument "on" for "--recovery" flag: not one of auto, off`)
}

func TestEveryFlagHasAVariable(t *testing.T) {
	t.Parallel()
	c, err := parse(map[string]string{
		"ROWRUN_DATABASE_URL": rowruntest.SomeURL, "ROWRUN_CONCURRENCY": "3", "ROWRUN_QUEUES": "a, b,a",
		"ROWRUN_STALE_AFTER": "45s", "ROWRUN_MIGRATE": "true", "ROWRUN_HTTP_ADDR": "off",
		"ROWRUN_STREAM_SOURCE": "off", "ROWRUN_LOG_LEVEL": "debug", "ROWRUN_WEBHOOK_ALLOW_CIDR": "10.0.0.0/8, fd00::/8", "ROWRUN_PUBLIC_URL": "https://rowrun.example:8443/jobs/",
	}, "--concurrency", "4")
	require.NoError(t, err)
	require.Equal(t, 4, c.Concurrency, "the flag wins")
	require.Equal(t, []string{"a", "b"}, c.Queues)
	require.Equal(t, 45*time.Second, c.StaleAfter)
	require.True(t, c.Migrate)
	require.Empty(t, c.HTTPAddr)
	require.Equal(t, "off", c.StreamSource)
	require.Equal(t, "debug", c.Log.Level)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}, c.WebhookAllow)
	require.Equal(t, "https://rowrun.example:8443/jobs", c.PublicURL)
}

func TestDatabaseIsFoundInTheOrderOfTheContract(t *testing.T) {
	t.Parallel()
	url := func(name string) string { return "postgres://u:hunter2@" + name + "/x" }
	all := map[string]string{"ROWRUN_DATABASE_URL": url("two"), "DATABASE_URL": url("three"), "PGHOST": "four"}

	c, err := parse(all, "--database-url", url("one"))
	require.NoError(t, err)
	require.Equal(t, url("one"), c.Database.URL)

	c, err = parse(all)
	require.NoError(t, err)
	require.Equal(t, url("two"), c.Database.URL)

	delete(all, "ROWRUN_DATABASE_URL")
	c, err = parse(all)
	require.NoError(t, err)
	require.Equal(t, url("three"), c.Database.URL)
	require.Equal(t, url("three"), c.Database.DirectURL)

	delete(all, "DATABASE_URL")
	c, err = parse(all)
	require.NoError(t, err)
	require.NotContains(t, c.Database.URL, "host=", "pgx reads the rest from PG* by itself")
	require.Equal(t, "the PG* variables", c.Database.Source)

	_, err = parse(nil)
	require.ErrorContains(t, err, "rowrun dev")
	require.ErrorAs(t, err, new(*cli.UsageError))
}

func TestSecretsComeFromVariablesAndFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "url")
	require.NoError(t, os.WriteFile(path, []byte(rowruntest.SomeURL+"\n"), 0o600))
	c, err := parse(map[string]string{"KEY": "whsec_eA=="}, "--database-url", "file:"+path,
		"--app-url", "http://127.0.0.1:1", "--app-secret", "env:KEY")
	require.NoError(t, err)
	require.Equal(t, rowruntest.SomeURL, c.Database.URL)
	require.Equal(t, "whsec_eA==", c.AppSecret)
	require.Equal(t, []string{"NOOP", "HTTP"}, c.Types)
}

func TestWrongValuesAreWrongUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--stale-after", "29s"}, "--stale-after: 29s is not accepted; accepted: at least 3 × --heartbeat-interval, which is 30s here"},
		{[]string{"--stale-after", "999ms", "--heartbeat-interval", "100ms"}, "--stale-after: 999ms is not accepted; accepted: at least 1s"},
		{[]string{"--missed-heartbeat-limit", "2"}, "--missed-heartbeat-limit: 2 is not accepted; accepted: 3 or more"},
		{[]string{"--missed-heartbeat-limit", "0"}, "--missed-heartbeat-limit: 0 is not accepted"},
		{[]string{"--missed-heartbeat-limit", "3", "--stale-after", "90s"}, "--missed-heartbeat-limit and --stale-after are two ways"},
		{[]string{"--missed-heartbeat-limit", "3", "--heartbeat-interval", "300ms"}, "3 × --heartbeat-interval (300ms) is 900ms; accepted: together at least 1s"},
		{[]string{"--stuck-limit", "0"}, "--stuck-limit: 0 is not accepted; accepted: 1 or more"},
		{[]string{"--heartbeat-interval", "0"}, "--heartbeat-interval: 0s is not accepted"},
		{[]string{"--task-timeout", "-1s"}, "--task-timeout: -1s is not accepted; accepted: a duration, or 0 for none"},
		{[]string{"--concurrency", "0"}, "--concurrency: 0 is not accepted; accepted: 1 to"},
		{[]string{"--max-batch", "0"}, "--max-batch: 0 is not accepted; accepted: 1 to 1000"},
		{[]string{"--max-claims-per-type", "-1"}, "--max-claims-per-type: -1 is not accepted; accepted: 1 to 10000, or 0"},
		{[]string{"--recovery-concurrency", "10001"}, "--recovery-concurrency: 10001 is not accepted; accepted: 1 to 10000, or 0 for that of --concurrency"},
		{[]string{"--recovery-rate", "-5"}, "--recovery-rate: -5 is not accepted; accepted: 1 to 1000000 runs per second, or 0 for no cap"},
		{[]string{"--db-max-conns", "1"}, "--db-max-conns: 1 is not accepted"},
		{[]string{"--queues", ""}, "--queues: is empty"},
		{[]string{"--queues", strings.Repeat("q", 101)}, "--queues: a name has 101 bytes"},
		{[]string{"--types", "NOPE"}, `--types: "NOPE" is not accepted; accepted: NOOP, SQL`},
		{[]string{"--types", "NOOP,HTTP"}, "--types: HTTP needs --app-url"},
		{[]string{"--types", "SQL"}, "--types: SQL needs databases in the file of --config"},
		{[]string{"--app-secret", "whsec_eA=="}, "--app-secret signs calls to the app: it needs --app-url"},
		{[]string{"--app-secret", "env:NOT_THERE"}, "--app-secret: env:NOT_THERE names a variable that is not set"},
		{[]string{"--http-addr", "8484"}, "--http-addr: \"8484\" is not accepted; accepted: host:port"},
		{[]string{"--http-addr", "127.0.0.1:99999"}, "--http-addr"},
		{[]string{"--queues", "a\tb"}, `--queues: "a\tb" is not accepted`},
		{[]string{"--replica-name", strings.Repeat("x", 201)}, "--replica-name: has 201 bytes"},
		{[]string{"--database-url", "postgres://u:hunter2/x@h:1/db"}, "--database-url: not a connection string; accepted: postgres://"},
		{[]string{"--direct-url", "port=hunter2"}, "--direct-url: not a connection string"},
		{[]string{"--database-url", "host=h sslmode=verify-full sslrootcert=/not/there"}, "/not/there"},
		{[]string{"--config", "/not/there.yaml"}, "--config: open /not/there.yaml"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			_, err := parse(map[string]string{"ROWRUN_DATABASE_URL": rowruntest.SomeURL}, c.args...)
			require.ErrorAs(t, err, new(*cli.UsageError))
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestLeaseIsGivenAsDurationOrAsMissedHeartbeats(t *testing.T) {
	t.Parallel()
	url := map[string]string{"ROWRUN_DATABASE_URL": rowruntest.SomeURL}
	c, err := parse(url, "--missed-heartbeat-limit", "4", "--heartbeat-interval", "2s")
	require.NoError(t, err)
	require.Equal(t, 8*time.Second, c.StaleAfter)

	c, err = parse(url, "--stale-after", "1s", "--heartbeat-interval", "333ms")
	require.NoError(t, err, "as low as one second")
	require.Equal(t, time.Second, c.StaleAfter)

	_, err = parse(map[string]string{"ROWRUN_DATABASE_URL": rowruntest.SomeURL, "ROWRUN_STALE_AFTER": "1m", "ROWRUN_MISSED_HEARTBEAT_LIMIT": "6"})
	require.ErrorAs(t, err, new(*cli.UsageError))
	require.ErrorContains(t, err, "give one of them", "variables count as given")
}

func TestReplicaNameFallsBackToTheHost(t *testing.T) {
	t.Parallel()
	c, err := parse(map[string]string{"DATABASE_URL": rowruntest.SomeURL, "POD_NAME": "pod", "HOSTNAME": "host"})
	require.NoError(t, err)
	require.Equal(t, "pod", c.ReplicaName)
	c, err = parse(map[string]string{"DATABASE_URL": rowruntest.SomeURL, "HOSTNAME": "a" + strings.Repeat("é", 100)})
	require.NoError(t, err)
	require.Equal(t, "a"+strings.Repeat("é", 99), c.ReplicaName, "cut to what the column takes")
}

func TestReservedSlots(t *testing.T) {
	t.Parallel()
	c, err := parse(map[string]string{"ROWRUN_RESERVE": "50=4, -1=1,100=2"}, "--database-url", rowruntest.SomeURL, "--concurrency", "7")
	require.NoError(t, err)
	require.Equal(t, []scheduler.Reserve{{Priority: 50, Slots: 4}, {Priority: -1, Slots: 1}, {Priority: 100, Slots: 2}}, c.Reserve)
	for given, says := range map[string]string{
		"50": "such as 50=4", "50=": "such as 50=4", "=4": "such as 50=4", "50=0": "such as 50=4", "50=-1": "such as 50=4", "x=4": "such as 50=4",
		"50=4,50=2": "each priority once", "99999999999=1": "such as 50=4", "50=4,100=4": "at most --concurrency (7) slots", "1=99999999": "at most --concurrency (7) slots",
	} {
		_, err := parse(nil, "--database-url", rowruntest.SomeURL, "--concurrency", "7", "--reserve", given)
		require.ErrorContains(t, err, says, given)
		require.ErrorContains(t, err, "--reserve: ")
	}
	c, err = parse(map[string]string{"ROWRUN_RESERVE": "50=4"}, "--database-url", rowruntest.SomeURL, "--role", "admin")
	require.NoError(t, err, "the environment is that of all replicas")
	require.Empty(t, c.Reserve)
}
