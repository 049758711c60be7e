package commands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

func newReplicaCommand(env cli.Environment) *cobra.Command {
	r := replicaCommand{newClient(env)}
	cmd := cli.Group(&cobra.Command{
		Use:   "replica",
		Short: "List replicas, have one claim nothing for a while, or drain",
	})
	r.register(cmd.PersistentFlags())
	cmd.AddCommand(r.list(), r.pause(), r.resume(), r.drain())
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

// asking makes one of the commands that find replicas by id or name. said is what -o json and yaml add to the ids.
func (r *replicaCommand) asking(use, short, long string, said map[string]any, ask func(ctx context.Context, s *store.Store, id string) ([]string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   use + " REPLICA",
		Short: short,
		Long:  long,
		Args:  cli.Arguments("REPLICA"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.ask(cmd, func(ctx context.Context, s *store.Store) error {
				id, err := wholeReplica(ctx, s, args[0])
				if err != nil {
					return err
				}
				ids, err := ask(ctx, s, id)
				if errors.Is(err, store.ErrNoReplica) {
					return &absentError{fmt.Sprintf("there is no live replica %s: `rowrun replica list` shows their ids and names", cli.Printable(args[0]))}
				}
				if err != nil {
					return err
				}
				answer := map[string]any{"replica_ids": ids}
				maps.Copy(answer, said)
				return r.answer(cmd, answer, cli.Printable(strings.Join(ids, " ")))
			})
		},
	}
}

func (r *replicaCommand) pause() *cobra.Command {
	return r.asking("pause", "Have a replica claim nothing; what it runs goes on",
		"Have the live replicas of this id or name claim nothing from now on; what they run goes on. Prints their ids.\n\n"+
			"It lasts until `rowrun replica resume`, or until the process ends: one that is started again is a new replica.",
		map[string]any{"paused": true}, func(ctx context.Context, s *store.Store, id string) ([]string, error) {
			return s.PauseReplica(ctx, id, true)
		})
}

func (r *replicaCommand) resume() *cobra.Command {
	return r.asking("resume", "Let a paused replica claim again",
		"Let the live replicas of this id or name claim again: each does within its sweep interval, at most 5 s. Prints their ids.",
		map[string]any{"paused": false}, func(ctx context.Context, s *store.Store, id string) ([]string, error) {
			return s.PauseReplica(ctx, id, false)
		})
}

func (r *replicaCommand) drain() *cobra.Command {
	return r.asking("drain", "Have a replica end what it runs and stop",
		"Have the live replicas of this id or name claim nothing from now on, and stop as SIGTERM has them stop: within a heartbeat,\n"+
			"by default 10 s, they notice, and what they run has their --drain-timeout. Prints their ids. A service manager may start\n"+
			"the process again.",
		map[string]any{"draining": true}, func(ctx context.Context, s *store.Store, id string) ([]string, error) { return s.AskDrain(ctx, id) })
}
