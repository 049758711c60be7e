package replica

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store/storetest"
)

// serveDeafly makes a process of this binary a replica whose executor of COMMAND never returns: the shipped ones do.
const serveDeafly = "ROWRUN_TEST_SERVE_DEAFLY"

func maybeServeDeaf() {
	if os.Getenv(serveDeafly) == "" {
		return
	}
	var c Config
	cmd := &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
		if err := c.Validate(os.LookupEnv); err != nil {
			return err
		}
		x, err := newExecutors(&c)
		if err != nil {
			return err
		}
		x.byType["COMMAND"], x.commands = scheduler.ExecutorFunc(func(context.Context, *scheduler.Run) (scheduler.Result, error) {
			select {}
		}), []string{"deaf"}
		return serveWith(cmd.Context(), &c, x, os.Stdout, c.Log.Logger(os.Stderr))
	}}
	c.Register(cmd.Flags())
	env := cli.Environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Lookup: os.LookupEnv}
	ctx, stop := cli.UntilSignal(context.Background())
	code := cli.Execute(ctx, cmd, os.Args[1:], env)
	stop()
	os.Exit(code)
}

// Two executors that ignore their cancel are more than it bears: the process ends by itself with 1, says why, and its
// runs have ended before.
func TestProcessWithStuckExecutorsExitsWithOne(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (type, payload, timeout) VALUES ('COMMAND', '{"command": "deaf"}', '200 ms'), ('NOOP', '{}', '1 h')`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task, generate_series(1, 2)`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var log bytes.Buffer
	replica := exec.CommandContext(ctx, os.Args[0], "--http-addr", "off", "--stuck-limit", "1", "--drain-timeout", "1s")
	replica.Env = []string{"HOME=/", "HOSTNAME=test", "DATABASE_URL=" + url, serveDeafly + "=on"}
	replica.Stderr = &log
	begun := time.Now()
	err := replica.Run()
	require.NoError(t, ctx.Err(), log.String())
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, log.String())
	require.Equal(t, cli.ExitFailed, exit.ExitCode(), log.String())
	require.Contains(t, log.String(), scheduler.ErrStuck.Error())
	t.Logf("ended after %s", time.Since(begun))
	var ended int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id
		WHERE CASE k.type WHEN 'NOOP' THEN r.status = 'DONE' ELSE r.result ->> 'code' = 'TIMEOUT' END`).Scan(&ended))
	require.Equal(t, 4, ended)
}
