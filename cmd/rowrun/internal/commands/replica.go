package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

func newReplicaCommand(env cli.Environment) *cobra.Command {
	r := replicaCommand{newClient(env)}
	cmd := cli.Group(&cobra.Command{
		Use:   "replica",
		Short: "List replicas, have one claim nothing for a while",
	})
	r.register(cmd.PersistentFlags())
	cmd.AddCommand(r.list(), r.pausing("pause", true), r.pausing("resume", false))
	return cmd
}

// replicaCommand is what the commands under replica have in common.
type replicaCommand struct{ client }

func (r *replicaCommand) list() *cobra.Command {
	return r.watched(&cobra.Command{
		Use:   "list",
		Short: "List the replicas, the oldest first",
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.ask(cmd, func(ctx context.Context, s *store.Store) error {
				status, err := s.Status(ctx)
				if err != nil {
					return err
				}
				return r.out.Write(cmd, status.Replicas, replicaTable(status.Replicas))
			})
		},
	})
}

// pausing makes the two commands that are each other's opposite.
func (r *replicaCommand) pausing(use string, pause bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use + " REPLICA",
		Short: "Let a paused replica claim again",
		Long:  "Let the live replicas of this id or name claim again: each does within its sweep interval, at most 5 s. Prints their ids.",
		Args:  cli.Arguments("REPLICA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.ask(cmd, func(ctx context.Context, s *store.Store) error {
				id, err := wholeReplica(ctx, s, args[0])
				if err != nil {
					return err
				}
				ids, err := s.PauseReplica(ctx, id, pause)
				if errors.Is(err, store.ErrNoReplica) {
					return &absentError{fmt.Sprintf("there is no live replica %s: `rowrun replica list` shows their ids and names", cli.Printable(args[0]))}
				}
				if err != nil {
					return err
				}
				return r.answer(cmd, map[string]any{"replica_ids": ids, "paused": pause}, cli.Printable(strings.Join(ids, " ")))
			})
		},
	}
	if pause {
		cmd.Short = "Have a replica claim nothing; what it runs goes on"
		cmd.Long = "Have the live replicas of this id or name claim nothing from now on; what they run goes on. Prints their ids.\n\n" +
			"It lasts until `rowrun replica resume`, or until the process ends: one that is started again is a new replica."
	}
	return cmd
}
