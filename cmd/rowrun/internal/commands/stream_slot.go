package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

// slotTimeout bounds what a person's command asks of the database.
const slotTimeout = 10 * time.Second

// begin is where a stream from a place in the log begins: at the newest moment
// written down that is not behind that place, or with all that the rows tell.
func (c *streamConfig) begin(ctx context.Context, opened *store.Store) (from *store.StreamPoint, gap string, err error) {
	if c.From == "" {
		return nil, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, slotTimeout)
	defer cancel()
	position, err := opened.StreamPositionAt(ctx, c.From)
	if err != nil {
		return nil, "", err
	}
	gap = "what came since " + c.From + " is told by the rows"
	if position == nil {
		return &store.StreamPoint{At: time.Unix(0, 0)}, gap, nil
	}
	last, err := opened.LastStreamPosition(ctx)
	if err != nil {
		return nil, "", err
	}
	if last != nil && last.SystemID != "" && last.SystemID != position.SystemID {
		position.Point.Snapshot = "" // numbers of transactions mean something else on another server
	}
	return &position.Point, gap, nil
}

func newStreamDropSlot(env cli.Environment) *cobra.Command {
	var config database.Config
	cmd := &cobra.Command{
		Use:   "drop-slot",
		Short: "Drop the replication slot of the stream, for leaving",
		Long: "Drops the replication slot that replicas made for the stream, so that the server no longer keeps its log for it.\n" +
			"Stop every replica first, or start them with --stream-source listen: a slot in use can't be dropped, and a replica\n" +
			"that reads the log makes a new one.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.Resolve(env.Lookup); err != nil {
				return err
			}
			log := (&cli.LogConfig{Level: "warn", Format: "console"}).Logger(cmd.ErrOrStderr())
			return dropSlot(cmd.Context(), &config, cmd.OutOrStdout(), log)
		},
	}
	config.Register(cmd.Flags())
	return cmd
}

func dropSlot(ctx context.Context, c *database.Config, out io.Writer, log zerolog.Logger) error {
	if err := connect.Wait(ctx, c.URL, c.Source, database.PromptPatience, log); err != nil {
		return cli.Stopped(ctx, err)
	}
	opened, err := store.Open(ctx, store.Config{URL: c.URL, AppName: "rowrun stream", MaxConns: 2})
	if err != nil {
		return err
	}
	defer opened.Close()
	if err := connect.CheckSchema(ctx, opened); err != nil {
		return cli.Stopped(ctx, err)
	}
	ctx, cancel := context.WithTimeout(ctx, slotTimeout)
	defer cancel()
	where, err := opened.Whereabouts(ctx)
	if err != nil {
		return err
	}
	if where.Elsewhere {
		return errors.New("the slot is the origin's: " + where.Why())
	}
	name := store.StreamSlotName(where.ID)
	dropped, err := opened.DropStreamSlot(ctx, name, true)
	switch {
	case store.SQLState(err) == "55006":
		return errors.New("slot " + name + " is in use: stop the replicas, or start them with --stream-source listen, and try again")
	case err != nil:
		return err
	case dropped:
		_, err = fmt.Fprintf(out, "slot %s dropped\n", name)
	default:
		_, err = fmt.Fprintf(out, "there is no slot %s\n", name)
	}
	return err
}
