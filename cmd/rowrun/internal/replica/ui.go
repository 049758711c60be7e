package replica

import (
	"context"
	"fmt"
	"io"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

// UIConfig is what a process is told that shows the dashboard and runs nothing.
type UIConfig struct {
	Database  database.Config
	Log       cli.LogConfig
	Dashboard Dashboard
	Version   string
	HTTPAddr  string
	HTTPToken string // resolved by Validate; "": none
}

// Register adds the flags of `rowrun ui`.
func (c *UIConfig) Register(flags *pflag.FlagSet) {
	c.Database.Register(flags)
	c.Log.Register(flags)
	flags.StringVar(&c.HTTPAddr, "http-addr", "127.0.0.1:8485", "`host:port` of the dashboard; port 0 takes a free one")
	flags.StringVar(&c.HTTPToken, "http-token", "", "bearer token that reads, needed beyond loopback: `env:NAME or file:PATH`")
	c.Dashboard.Register(flags)
}

// Validate completes what was left open and refuses what can't work.
func (c *UIConfig) Validate(lookup func(string) (string, bool)) error {
	if err := c.Database.Resolve(lookup); err != nil {
		return err
	}
	var err error
	if c.HTTPToken, err = cli.ResolveToken("--http-token", c.HTTPToken, lookup); err != nil {
		return err
	}
	if err := c.Dashboard.Validate(lookup, c.HTTPToken); err != nil {
		return err
	}
	if c.Dashboard.UI == "off" {
		return cli.Usagef("--ui: off leaves nothing for rowrun ui to do; accepted here: on, read-only")
	}
	if c.HTTPAddr, err = checkAddr(c.HTTPAddr); err == nil && c.HTTPAddr == "" {
		err = cli.Usagef("--http-addr: off leaves nothing for rowrun ui to do; accepted here: host:port such as 127.0.0.1:8485")
	}
	return err
}

// ServeUI shows the dashboard until ctx ends: a process that claims nothing, writes no stream and registers nowhere, with what
// its database role may do. It prints its address; where nobody was given a token to act with, and the role may act, one is
// drawn for this process, and stands behind the address.
func ServeUI(ctx context.Context, c *UIConfig, out io.Writer, log zerolog.Logger) error {
	return behindDoor(ctx, c.HTTPAddr, c.Database.URL, log, func(ctx context.Context, d *door) error { return showUI(ctx, c, d, out, log) })
}

// showUI is ServeUI behind its door.
func showUI(ctx context.Context, c *UIConfig, d *door, out io.Writer, log zerolog.Logger) error {
	if err := c.Database.FindPooler(ctx, log); err != nil {
		return cli.Stopped(ctx, err)
	}
	opened, deployment, err := c.Database.Open(ctx, store.Config{AppName: "rowrun ui", MaxConns: 6}, log)
	if err != nil {
		return cli.Stopped(ctx, err)
	}
	defer opened.Close()
	role, err := opened.BoardRole(ctx)
	if err != nil {
		return cli.Stopped(ctx, database.InWords(err))
	}
	direct, err := connect.Parse(c.Database.DirectURL)
	if err != nil {
		return err
	}
	hub := events.NewHub()
	listener, err := events.NewListener(events.ListenConfig{ConnConfig: direct, Channel: store.Channel, Hub: hub, Log: log, AppName: "rowrun ui", Probe: true})
	if err != nil {
		return err
	}
	lines, err := history.New(history.Config{})
	if err != nil {
		return err
	}
	follower := newFollower(opened, hub, listener.Connected, func() bool { return false }, lines, log)
	var drawn string
	if role.Operator {
		drawn = c.Dashboard.Draw(role.Name)
	}
	answers, _, unsubscribe, err := c.Dashboard.makeAPI(board{store: opened, hub: hub, deployment: deployment, name: "rowrun ui", version: c.Version, log: log})
	if err != nil {
		return err
	}
	defer unsubscribe()
	config := server.Config{
		Checks:  []server.Check{{Name: "schema", Ask: func(ctx context.Context) error { return connect.CheckSchema(ctx, opened) }}},
		History: lines, Follow: follower.Follow, Token: c.HTTPToken, Operators: c.Dashboard.Operators, Deployment: deployment,
		Dashboard: handler(answers), Prefix: c.Dashboard.Prefix, HideData: c.Dashboard.HideData, Log: log,
	}
	surface, err := server.NewSurface(config, d.front.Guard(config))
	if err != nil {
		return err
	}
	d.front.Serve(surface)
	if _, err := fmt.Fprintln(out, c.Dashboard.Address(d.front.Addr().String(), drawn)); err != nil {
		return err
	}
	parts, around := errgroup.WithContext(ctx)
	for _, p := range []part{listener, follower, answers, surface, d} {
		parts.Go(func() error { return p.Run(around) })
	}
	return parts.Wait()
}
