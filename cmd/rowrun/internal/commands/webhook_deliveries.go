package commands

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

func (w *webhookCommand) deliveries() *cobra.Command {
	var filter store.DeliveryFilter
	var webhook, run string
	var plan planFlag
	cmd := &cobra.Command{
		Use:   "deliveries",
		Short: "List deliveries, the newest first: what was sent, what still will be, what went wrong",
		Args:  cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkDeliveryFilter(&filter); err != nil {
				return err
			}
			return w.ask(cmd, func(ctx context.Context, s *store.Store) error {
				var err error
				if filter.PlanID, err = plan.id(ctx, cmd, s); err != nil {
					return err
				}
				if run != "" {
					id, err := resolve(ctx, cmd, s, runRow, run)
					if err != nil {
						return err
					}
					filter.RunID = &id
				}
				if webhook != "" {
					id, err := resolve(ctx, cmd, s, webhookRow, webhook)
					if err != nil {
						return err
					}
					filter.WebhookID = &id
				}
				all, err := s.ListDeliveries(ctx, filter)
				if err != nil {
					return err
				}
				return w.out.Write(cmd, all, deliveryTable(all, time.Now()))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&webhook, "webhook", "", "`id or name` of a webhook")
	plan.register(cmd)
	flags.StringVar(&run, "run", "", "`id` of a run of the chain, or the name of its task")
	cli.List(flags, &filter.Statuses, "status", nil, "statuses, separated by commas: PENDING, DELIVERED, EXHAUSTED, DISABLED")
	flags.IntVar(&filter.Limit, "limit", 50, "most deliveries to list")
	return w.watched(cmd)
}

func deliveryStatuses() []string { return []string{"PENDING", "DELIVERED", "EXHAUSTED", "DISABLED"} }

func checkDeliveryFilter(filter *store.DeliveryFilter) error {
	if err := checkStatuses(filter.Statuses, deliveryStatuses()); err != nil {
		return err
	}
	return checkLimit(filter.Limit)
}

func deliveryTable(all []store.ShownDelivery, now time.Time) cli.Table {
	t := cli.Table{
		Columns: []cli.Column{
			cli.Whole("DELIVERY"), cli.Whole("STATUS"), cli.Free("EVENT"), cli.Free("ABOUT"), cli.Whole("ROUND").Spare(), cli.Whole("WEBHOOK"),
			cli.Whole("ATTEMPTS").Spare(), cli.Whole("NEXT"), cli.Whole("CODE"), cli.Free("PROBLEM"), cli.Whole("CREATED"), cli.Free("MESSAGE").Wide(),
		},
		None: "no delivery",
	}
	for _, d := range all {
		code := ""
		if d.ResponseCode != nil {
			code = strconv.Itoa(*d.ResponseCode)
		}
		t.Rows = append(t.Rows, []string{
			strconv.FormatInt(d.ID, 10), d.Status, d.EventType, deliveryOf(&d), number(d.Round), strconv.FormatInt(d.WebhookID, 10),
			strconv.Itoa(d.Attempts), cli.Age(now, d.NextAttempt), code, text(d.LastError), cli.Age(now, &d.CreatedAt), d.MessageID,
		})
	}
	return t
}

// deliveryOf says what an event is about.
func deliveryOf(d *store.ShownDelivery) string {
	switch {
	case d.PlanID != nil:
		return "plan " + number(d.PlanID)
	case d.RunID != nil:
		return "run " + number(d.RunID)
	case d.TaskID != nil:
		return "task " + number(d.TaskID)
	case d.TaskType != nil:
		return "type " + *d.TaskType
	}
	return ""
}
