package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

func newWebhook(env cli.Environment) *cobra.Command {
	w := webhookCommand{newClient(env)}
	cmd := cli.Group(&cobra.Command{
		Use:   "webhook",
		Short: "Make, change and list webhooks and their deliveries, try one, receive on this machine, deliver once more",
	})
	w.register(cmd.PersistentFlags())
	cmd.AddCommand(w.create(), w.list(), w.update(), w.remove(), w.test(), w.listen(), w.deliveries(), w.redeliver())
	return cmd
}

// webhookCommand is what the commands under webhook have in common.
type webhookCommand struct{ client }

// shownWebhook is a webhook without what nobody should read over a shoulder.
type shownWebhook struct {
	ID      int64  `json:"id"`
	Project string `json:"project"`
	Name    string `json:"name"`
	// URL is scheme and host, or the reference; null where the role may not read it.
	URL *string `json:"url"`
	// SecretRef is the reference; null where there is none, or the role may not read it.
	SecretRef *string  `json:"secret_ref"`
	Events    []string `json:"events"`
	// Filter is of tasks without a plan; null: none.
	Filter  json.RawMessage `json:"filter"`
	Format  string          `json:"format"`
	Enabled bool            `json:"enabled"`
	Pending int64           `json:"pending"`
}

func (w *webhookCommand) list() *cobra.Command {
	var project string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List webhooks, with what is still to be delivered",
		Long: "List webhooks, with what is still to be delivered. Of a URL only scheme and host are shown: the rest is\n" +
			"often a secret.",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return w.ask(cmd, func(ctx context.Context, s *store.Store) error {
				all, err := s.ListWebhooks(ctx, project)
				if err != nil {
					return err
				}
				shown := make([]shownWebhook, len(all))
				t := cli.Table{
					Columns: []cli.Column{
						cli.Whole("WEBHOOK"), cli.Free("PROJECT"), cli.Free("NAME"), cli.Free("URL"), cli.Free("SECRET"), cli.Free("EVENTS").Spare(), cli.Free("FILTER"),
						cli.Whole("FORMAT").Spare(), cli.Whole("ENABLED"), cli.Whole("PENDING"),
					},
					None: "no webhook",
				}
				for i, webhook := range all {
					v := veil(webhook)
					shown[i] = v
					t.Rows = append(t.Rows, []string{
						strconv.FormatInt(v.ID, 10), v.Project, v.Name, text(v.URL), text(v.SecretRef), strings.Join(v.Events, ","), string(v.Filter),
						v.Format, strconv.FormatBool(v.Enabled), strconv.FormatInt(v.Pending, 10),
					})
				}
				return w.out.Write(cmd, shown, t)
			})
		},
	}
	cmd.Flags().StringVar(&project, "project", "", "only webhooks of this `project`")
	return cmd
}

func veil(w store.Webhook) shownWebhook {
	v := shownWebhook{
		ID: w.ID, Project: w.Project, Name: w.Name, SecretRef: w.SecretRef,
		Events: w.Events, Filter: w.Filter, Format: w.Format, Enabled: w.Enabled, Pending: w.Pending,
	}
	if w.URL != nil {
		veiled := veilURL(*w.URL)
		v.URL = &veiled
	}
	return v
}

// veilURL leaves scheme and host of a URL. A reference is none, and is shown as it is.
func veilURL(target string) string {
	if strings.HasPrefix(target, "env:") || strings.HasPrefix(target, "file:") {
		return target
	}
	parsed, err := url.Parse(target)
	if err != nil || parsed.Host == "" {
		return "…"
	}
	return parsed.Scheme + "://" + parsed.Host + "/…"
}

func noSuchWebhook(id int64) error {
	return &absentError{fmt.Sprintf("there is no webhook %d: `rowrun webhook list` shows those that there are", id)}
}

func (w *webhookCommand) redeliver() *cobra.Command {
	return w.about(deliveryRow, &cobra.Command{
		Use:   "redeliver ID",
		Short: "Deliver a message once more: the same id, the same bytes, all tries anew",
		Long: "Make a delivery that is DELIVERED, EXHAUSTED or DISABLED PENDING again, and print its status. It keeps its\n" +
			"message id and its body. ID is that of `rowrun webhook deliveries`.",
	}, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		delivery, err := s.FindDelivery(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return &absentError{fmt.Sprintf("there is no delivery %d (retention removes what was settled long ago)", id)}
		}
		if err != nil {
			return err
		}
		if err := s.Redeliver(ctx, id); errors.Is(err, store.ErrStale) {
			return fmt.Errorf("delivery %d is PENDING already: `rowrun webhook deliveries` shows when it is tried next", id)
		} else if err != nil {
			return err
		}
		if on, err := s.WebhookEnabled(ctx, delivery.WebhookID); err != nil {
			return err
		} else if !on {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "webhook %d is disabled: the delivery waits until it is enabled\n", delivery.WebhookID)
		}
		return w.answer(cmd, struct {
			DeliveryID int64  `json:"delivery_id"`
			MessageID  string `json:"message_id"`
			Status     string `json:"status"`
		}{id, delivery.MessageID, "PENDING"}, "PENDING")
	})
}
