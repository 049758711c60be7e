package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/connect"
	"github.com/rowrun/rowrun/store/embeddedpg"
	"github.com/rowrun/rowrun/store/session"
)

const (
	devDatabase = "rowrun"
	// clusterPatience bounds the end of a cluster; it takes itself at most 40 s.
	clusterPatience = time.Minute
)

// Config is what `rowrun dev` is told: all that serve is, but for where the
// database is.
type Config struct {
	replica.Config
	Dir    string
	Sample bool
	Fresh  bool // what Dir holds goes
}

// keptLog bounds what a replication slot holds back, so that the stream comes from the write-ahead log.
const keptLog = "1GB"

// DSN is how to connect to what another process runs in a directory.
func DSN(dir string) (string, error) {
	at, err := embeddedpg.Running(dir)
	if errors.Is(err, embeddedpg.ErrNotRunning) {
		return "", fmt.Errorf("no `rowrun dev` has %s: start one, or name its --dir", dir)
	}
	return login(at.SocketDir, at.Port), err
}

func login(socketDir string, port int) string {
	return fmt.Sprintf("host=%s port=%d user=postgres dbname=%s", conninfo(socketDir), port, devDatabase)
}

// FreeAddr is addr where nobody listens there yet, else a port of loopback's that
// is free now: a replica beside this one may have the default.
func FreeAddr(ctx context.Context, addr string) string {
	for _, one := range []string{addr, "127.0.0.1:0"} {
		if listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", one); err == nil {
			defer func() { _ = listener.Close() }()
			return listener.Addr().String()
		}
	}
	return "127.0.0.1:0"
}

// Run runs a cluster and a replica on it until ctx ends.
func Run(ctx context.Context, c *Config, env cli.Environment, out, errout io.Writer) (err error) {
	var demo *sample
	if c.Sample {
		if c.AppURL != "" {
			return cli.Usagef("--sample brings an app of its own: leave --app-url out")
		}
		if demo, err = newSample(ctx, errout); err != nil {
			return err
		}
		defer demo.close()
		c.AppURL = demo.url()
		env.Lookup = demo.lookup(env.Lookup)
	}
	c.AllowWebhooks("127.0.0.0/8", "::1/128") // all of this is on one machine
	types := c.Types
	c.Database = database.Config{Way: connect.Way{URL: "dbname=" + devDatabase}} // checked before the cluster is there
	if err := c.Validate(env.Lookup); err != nil {
		return err
	}
	log := c.Log.Logger(errout)

	// The first start takes some seconds.
	if _, err := fmt.Fprintf(errout, "rowrun dev: starting PostgreSQL for %s\n", c.Dir); err != nil {
		return err
	}
	cluster, err := embeddedpg.Start(ctx, embeddedpg.Config{
		Dir: c.Dir, Fresh: c.Fresh, Settings: map[string]string{"max_slot_wal_keep_size": keptLog},
	})
	switch {
	case errors.Is(err, embeddedpg.ErrInUse):
		return cli.Stopped(ctx, fmt.Errorf("another `rowrun dev` has %s: stop that one, or give this one another --dir (%w)", c.Dir, err))
	case err != nil:
		return cli.Stopped(ctx, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clusterPatience)
		defer cancel()
		err = errors.Join(err, cluster.Stop(ctx))
		log.Info().Msg("PostgreSQL stopped")
	}()
	url := cluster.SocketURL(devDatabase)
	c.Database = database.Config{Way: connect.Way{URL: url, DirectURL: url, Source: "rowrun dev"}}
	if demo != nil {
		if err := demo.addTarget(&c.Config, cluster, types); err != nil {
			return err
		}
	}
	if err := prepare(ctx, cluster, c.Sample, log); err != nil {
		return cli.Stopped(ctx, err)
	}
	if err := introduce(errout, c, cluster); err != nil {
		return err
	}
	return runDev(ctx, c, cluster, demo, out, log)
}

// runDev serves, keeps the server up and runs the sample beside it.
func runDev(ctx context.Context, c *Config, cluster *embeddedpg.Cluster, demo *sample, out io.Writer, log zerolog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// Serving drains with the server up: what ends with ctx must not take that away.
	watch, stopWatch := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatch()
	var watching, working errgroup.Group
	watching.Go(func() error {
		defer stop()
		return keepUp(watch, cluster, log)
	})
	if demo != nil {
		before, err := streamWriter(ctx, c.Database.URL)
		if err != nil {
			return cli.Stopped(ctx, err)
		}
		working.Go(func() error {
			if err := demo.run(ctx, c.Database.URL, c.StreamSource != "off", before); err != nil && ctx.Err() == nil {
				log.Error().Err(err).Msg("sample could not be run")
			}
			return nil
		})
	}
	err := replica.Serve(ctx, &c.Config, out, log)
	stop()
	_ = working.Wait() // never an error
	stopWatch()
	return errors.Join(err, watching.Wait())
}

// prepare makes the databases that are missing, and the schema.
func prepare(ctx context.Context, cluster *embeddedpg.Cluster, sample bool, log zerolog.Logger) error {
	names := []string{devDatabase}
	if sample {
		names = append(names, sampleDatabase)
	}
	for _, name := range names {
		if err := ensureDatabase(ctx, cluster, name); err != nil {
			return fmt.Errorf("create database %s: %w", name, err)
		}
	}
	_, err := migrations.Up(ctx, migrations.Config{URL: cluster.SocketURL(devDatabase), Log: log})
	return err
}

func ensureDatabase(ctx context.Context, cluster *embeddedpg.Cluster, name string) error {
	ctx, cancel := context.WithTimeout(ctx, database.AnswerPatience)
	defer cancel()
	config, err := pgx.ParseConfig(cluster.SocketURL("postgres"))
	if err != nil {
		return err
	}
	session.Pin(config)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer connect.Close(ctx, conn)
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	return err
}

// keepUp starts the server again where it ended on its own, as a supervisor
// would: whoever tries what happens when PostgreSQL is killed sees it.
func keepUp(ctx context.Context, cluster *embeddedpg.Cluster, log zerolog.Logger) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-cluster.Done():
		}
		log.Warn().Msg("PostgreSQL ended, starting it again")
		restart, cancel := context.WithTimeout(ctx, clusterPatience)
		err := cluster.Restart(restart)
		cancel()
		if err != nil {
			return cli.Stopped(ctx, err)
		}
	}
}

// introduce says where the dashboard and the data are, and how to get there.
func introduce(w io.Writer, c *Config, cluster *embeddedpg.Cluster) error {
	if c.HTTPAddr != "" && c.Dashboard.UI != "off" {
		token := c.Dashboard.Draw("dev")
		if _, err := fmt.Fprintf(w, "rowrun dev: the dashboard:\n    %s\n", c.Dashboard.Address(c.HTTPAddr, token)); err != nil {
			return err
		}
	}
	where := cluster.Dir()
	if abs, err := filepath.Abs(c.Dir); err == nil && abs != where {
		where += fmt.Sprintf(" (the user who runs the server can't reach %s)", c.Dir)
	}
	way := login(cluster.SocketDir(), cluster.Port())
	_, err := fmt.Fprintf(w, `rowrun dev: PostgreSQL runs on 127.0.0.1:%d, its data stays in %s
rowrun dev: look at it and insert runs:
    psql %s
rowrun dev: other rowrun commands, after
    export DATABASE_URL=%s
`, cluster.Port(), where, cli.Quoted(way+" options=-csearch_path=rowrun,public"), cli.Quoted(way))
	return err
}

// conninfo escapes a value of a key=value connection string.
func conninfo(value string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `\'`, " ", `\ `).Replace(value)
}
