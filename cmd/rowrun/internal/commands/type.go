package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/store"
)

// typePoll is how often to look whether a type has drained. Replicas follow within their sweep interval, at most 5 s.
const typePoll = 200 * time.Millisecond

func newType(env cli.Environment) *cobra.Command {
	t := typeCommand{newClient(env)}
	cmd := cli.Group(&cobra.Command{
		Use:   "type",
		Short: "List task types, drain, rename or purge one",
	})
	t.register(cmd.PersistentFlags())
	cmd.AddCommand(t.list(), t.drain(), t.resume(), t.alias(), t.purge())
	return cmd
}

// typeCommand is what the commands under type have in common.
type typeCommand struct{ client }

func (t *typeCommand) list() *cobra.Command {
	return t.watched(&cobra.Command{
		Use:   "list",
		Short: "List the types of tasks, who runs them, and what waits for nobody",
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.ask(cmd, func(ctx context.Context, s *store.Store) error {
				types, err := s.ListTypes(ctx)
				if err != nil {
					return err
				}
				return t.out.Write(cmd, types, typeTable(types))
			})
		},
	})
}

func typeTable(types []store.TypeStatus) cli.Table {
	t := cli.Table{
		Columns: []cli.Column{
			cli.Free("TYPE"), cli.Whole("REPLICAS"), cli.Whole("TASKS"), cli.Whole("PENDING"), cli.Whole("AVAILABLE"), cli.Whole("RUNNING"),
			cli.Whole("ORPHANS"), cli.Free(""),
		},
		None: "no type: there is no task, no run and no replica",
	}
	for _, one := range types {
		note := ""
		switch {
		case one.Draining:
			note = "drained: nothing new is claimed"
		case one.AliasOf != nil:
			note = "run by " + *one.AliasOf
		case one.Orphans > 0:
			note = "no live replica runs these"
		}
		row := []string{one.Type}
		for _, n := range []int64{one.Replicas, one.Tasks, one.Pending, one.Available, one.Running, one.Orphans} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		t.Rows = append(t.Rows, append(row, note))
	}
	return t
}

func (t *typeCommand) drain() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "drain TYPE",
		Short: "Claim no further run of a type, and wait for those that are RUNNING",
		Long: "Claim no further run of a type, and wait until no live replica claims it and nothing of it is RUNNING. Runs may\n" +
			"still be inserted: they wait. It stays so until `rowrun type resume TYPE`.",
		Args: cli.Arguments("TYPE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout < 0 {
				return cli.Usagef("--timeout: %s is not accepted; accepted: a duration, or 0 for none", timeout)
			}
			s, err := t.open(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := asking(cmd.Context(), func(ctx context.Context) error { return s.DrainType(ctx, args[0], true) }); err != nil {
				return err
			}
			if err := awaitDrained(cmd.Context(), s, args[0], timeout); err != nil {
				return err
			}
			return t.answer(cmd, map[string]any{"type": args[0], "drained": true}, "drained")
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait; 0: for ever")
	return cmd
}

// awaitDrained looks until nobody claims a type any more and nothing of it runs.
func awaitDrained(ctx context.Context, s *store.Store, name string, timeout time.Duration) error {
	var over <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		over = timer.C
	}
	tick := time.NewTicker(typePoll)
	defer tick.Stop()
	for {
		var left store.TypeLeft
		err := asking(ctx, func(ctx context.Context) (err error) { left, err = s.TypeLeft(ctx, name); return err })
		if err != nil {
			return err
		}
		if left == (store.TypeLeft{}) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return fmt.Errorf("not drained after %s: %d replicas still claim type %s, %d runs of it are RUNNING; nothing new will be claimed, wait again",
				timeout, left.Replicas, cli.Printable(name), left.Running)
		case <-tick.C:
		}
	}
}

// asking bounds one question of several, and puts what went wrong into words.
func asking(ctx context.Context, question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, database.AnswerPatience)
	defer cancel()
	return database.InWords(question(ctx))
}

func (t *typeCommand) resume() *cobra.Command {
	return &cobra.Command{
		Use:   "resume TYPE",
		Short: "Claim runs of a drained type again",
		Args:  cli.Arguments("TYPE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.ask(cmd, func(ctx context.Context, s *store.Store) error {
				if err := s.DrainType(ctx, args[0], false); err != nil {
					return err
				}
				return t.answer(cmd, map[string]any{"type": args[0], "draining": false}, "claimed again")
			})
		},
	}
}

func (t *typeCommand) alias() *cobra.Command {
	var mapping string
	var remove bool
	cmd := &cobra.Command{
		Use:   "alias OLD NEW",
		Short: "Let the executor of type NEW run the runs of type OLD",
		Long: "Let the executor of type NEW run the runs of type OLD, on each replica that has the one and not the other.\n" +
			"SQL, DATABASE_MIGRATE and COMMAND are refused: fewer roles may write tasks of these.\n\n" +
			"--map renames top-level keys of the payload: {\"to\": \"recipient\", \"debug\": null} leaves debug out.",
		Args: cli.Arguments("OLD", "[NEW]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			to := ""
			if len(args) == 2 {
				to = args[1]
			}
			doc, err := parseMapping(mapping)
			switch {
			case err != nil:
				return err
			case remove != (to == ""):
				return cli.Usagef("%s: give OLD and NEW, or OLD and --remove", cmd.CommandPath())
			case remove && doc != nil:
				return cli.Usagef("--map: goes with NEW, not with --remove")
			}
			return t.ask(cmd, func(ctx context.Context, s *store.Store) error {
				if err := s.AliasType(ctx, args[0], to, doc); err != nil {
					return err
				}
				line := args[0] + " is run by " + to
				if remove {
					line = args[0] + " is run by itself"
				}
				return t.answer(cmd, map[string]any{"type": args[0], "alias_of": to, "mapping": doc}, cli.Printable(line))
			})
		},
	}
	cmd.Flags().StringVar(&mapping, "map", "", "`json` object: keys of OLD's payload and NEW's names for them, null to leave one out")
	cmd.Flags().BoolVar(&remove, "remove", false, "take the alias of OLD back")
	return cmd
}

// parseMapping refuses what replicas would not understand.
func parseMapping(text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	var names map[string]*string
	if err := json.Unmarshal([]byte(text), &names); err != nil || names == nil {
		return nil, cli.Usagef(`--map: %q is not accepted; accepted: a JSON object of names or null, such as {"to": "recipient", "debug": null}`, text)
	}
	return json.RawMessage(text), nil
}

// errNotSure asks for --yes.
var errNotSure = errors.New("not confirmed")

func (t *typeCommand) purge() *cobra.Command {
	var older time.Duration
	var yes bool
	cmd := &cobra.Command{
		Use:   "purge OLD",
		Short: "Cancel the PENDING and AVAILABLE runs of a type; no row is removed",
		Args:  cli.Arguments("OLD"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if older < 0 {
				return cli.Usagef("--older-than: %s is not accepted; accepted: a duration", older)
			}
			s, err := t.open(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			if !yes {
				var n int64
				err := asking(cmd.Context(), func(ctx context.Context) (err error) { n, err = s.CountPurge(ctx, args[0], older); return err })
				if err != nil {
					return err
				}
				return cli.Usagef("%w: %d runs of type %s would be canceled; add --yes to do it", errNotSure, n, cli.Printable(args[0]))
			}
			n, err := s.PurgeType(cmd.Context(), args[0], older)
			if err != nil {
				return database.InWords(err)
			}
			return t.answer(cmd, map[string]any{"type": args[0], "canceled": n}, fmt.Sprintf("%d canceled", n))
		},
	}
	cmd.Flags().DurationVar(&older, "older-than", 0, "only runs that were inserted longer ago than this")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without it only the number is said")
	return cmd
}
