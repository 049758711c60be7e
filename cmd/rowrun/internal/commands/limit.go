package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

func newLimit(env cli.Environment) *cobra.Command {
	l := limitCommand{newClient(env)}
	cmd := cli.Group(&cobra.Command{
		Use:   "limit",
		Short: "Limit how many runs of a type, a queue or a key run at once, or start in a time",
	})
	l.register(cmd.PersistentFlags())
	cmd.AddCommand(l.set(), l.list(), l.show(), l.remove())
	return cmd
}

// limitCommand is what the commands under limit have in common.
type limitCommand struct{ client }

func (l *limitCommand) list() *cobra.Command {
	return l.watched(&cobra.Command{
		Use:   "list",
		Short: "List the limits, how many places are taken, and how many runs wait",
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return l.ask(cmd, func(ctx context.Context, s *store.Store) error {
				limits, err := s.ListLimits(ctx)
				if err != nil {
					return err
				}
				return l.out.Write(cmd, limits, limitTable(limits))
			})
		},
	})
}

func limitTable(limits []store.Limit) cli.Table {
	t := cli.Table{
		Columns: []cli.Column{
			cli.Free("LIMIT"), cli.Free("TYPE"), cli.Free("QUEUE"), cli.Free("KEY"), cli.Whole("AT ONCE"), cli.Whole("RATE"), cli.Whole("BURST"),
			cli.Whole("NOT BEFORE"), cli.Whole("SHARE"), cli.Whole("TAKEN"), cli.Whole("WAITING"),
		},
		None: "no limit",
	}
	for _, one := range limits {
		t.Rows = append(t.Rows, []string{
			one.Name, text(one.Type), text(one.Queue), strings.Join(one.KeyPath, "."), whole(one.MaxRunning), rateText(one), whole(one.Burst),
			momentText(one.NotBefore), shareText(one.Share), strconv.FormatInt(one.Taken, 10), atLeast(one.Waiting),
		})
	}
	return t
}

func whole(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// atLeast is a count that ends at 1,000.
func atLeast(n int64) string {
	if n >= 1000 {
		return "1000+"
	}
	return strconv.FormatInt(n, 10)
}

func rateText(l store.Limit) string {
	if l.Rate == nil || l.PerMS == nil {
		return ""
	}
	return fmt.Sprintf("%d/%s", *l.Rate, milliseconds(l.PerMS, ""))
}

func shareText(share string) string {
	if share == "NONE" {
		return ""
	}
	return share
}

func momentText(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func (l *limitCommand) show() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show a limit, and how it stands for each key that is used",
		Long: "Show a limit, and how it stands for each key that runs take places of or wait for, up to 100, those with most\n" +
			"waiting first. `rowrun run why ID` says who holds the places that a run waits for.",
		Args: cli.Arguments("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return l.ask(cmd, func(ctx context.Context, s *store.Store) error {
				limit, err := s.FindLimit(ctx, args[0])
				if errors.Is(err, store.ErrNotFound) {
					return noSuchLimit(args[0])
				}
				if err != nil {
					return err
				}
				keys, err := s.LimitKeys(ctx, args[0])
				if err != nil {
					return err
				}
				if !l.out.ForPeople() {
					return l.out.Write(cmd, struct {
						store.Limit
						Keys []store.LimitKey `json:"keys"`
					}{limit, keys}, limitTable([]store.Limit{limit}))
				}
				return l.out.WriteParts(cmd.OutOrStdout(), limitTable([]store.Limit{limit}), keyTable(keys))
			})
		},
	}
}

func keyTable(keys []store.LimitKey) cli.Table {
	t := cli.Table{
		Columns: []cli.Column{cli.Free("KEY"), cli.Whole("TAKEN"), cli.Whole("WAITING"), cli.Whole("TOKENS"), cli.Whole("OPENS AT"), cli.Whole("NEXT RUN")},
		None:    "no run takes a place of it or waits for it",
	}
	for _, k := range keys {
		tokens := ""
		if k.Tokens != nil {
			tokens = strconv.FormatFloat(*k.Tokens, 'f', 1, 64)
		}
		t.Rows = append(t.Rows, []string{text(k.Key), strconv.FormatInt(k.Taken, 10), atLeast(k.Waiting), tokens, momentText(k.OpensAt), number(k.FirstRun)})
	}
	return t
}

func noSuchLimit(name string) error {
	return &absentError{fmt.Sprintf("there is no limit %q: `rowrun limit list` shows those that there are", name)}
}

func (l *limitCommand) remove() *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a limit; what it held back goes on",
		Args:  cli.Arguments("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return l.ask(cmd, func(ctx context.Context, s *store.Store) error {
				err := s.DeleteLimit(ctx, args[0])
				if errors.Is(err, store.ErrNotFound) {
					return noSuchLimit(args[0])
				}
				if err != nil {
					return err
				}
				return l.answer(cmd, struct {
					Limit   string `json:"limit"`
					Deleted bool   `json:"deleted"`
				}{args[0], true}, "deleted")
			})
		},
	}
}

func (l *limitCommand) set() *cobra.Command {
	var f limitFlags
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Make a limit, or change what is given of it",
		Long: "Make a limit, or change what is given of it. It holds for all replicas from now on, also for runs that wait or are\n" +
			"AVAILABLE already; what is RUNNING goes on. none takes back what was set.",
		Example: "  rowrun limit set tenants --key tenant --max-running 5\n" +
			"  rowrun limit set mailer --type EMAIL --rate 100/1m --burst 20\n" +
			"  rowrun limit set shares --key tenant --share fair --weight gold=3\n" +
			"  rowrun limit set reports --queue reports --not-before 2h",
		Args: cli.Arguments("NAME"),
	}
	f.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		change, err := f.change(cmd)
		if err != nil {
			return err
		}
		return l.ask(cmd, func(ctx context.Context, s *store.Store) error {
			if err := s.SetLimit(ctx, args[0], change); err != nil {
				return err
			}
			limit, err := s.FindLimit(ctx, args[0])
			if err != nil {
				return err
			}
			return l.out.Write(cmd, limit, limitTable([]store.Limit{limit}))
		})
	}
	return cmd
}
