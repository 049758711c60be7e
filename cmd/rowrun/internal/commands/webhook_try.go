package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
	"github.com/rowrun/rowrun/notifier"
	"github.com/rowrun/rowrun/notifier/webhook"
	"github.com/rowrun/rowrun/store"
)

func (w *webhookCommand) test() *cobra.Command {
	var allow []string
	var configPath, publicURL string
	cmd := &cobra.Command{
		Use:   "test ID|NAME",
		Short: "Send a signed sample to a webhook and show what came back",
		Long: "Send a signed sample to a webhook and show what came back. Its type is TEST, so that no receiver takes it\n" +
			"for an event. It goes out from here, not from a replica: the env: and file: that webhook_secrets of\n" +
			"--config lists are read here, and an address that is not public is refused unless --webhook-allow-cidr\n" +
			"names it.",
		Args: cli.Arguments("ID"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkNamed(cmd, webhookRow, args[0]); err != nil {
			return err
		}
		prefixes, err := replica.ParseWebhookAllow(allow)
		if err != nil {
			return err
		}
		file, err := replica.ReadFile(configPath)
		if err != nil {
			return err
		}
		if publicURL, err = replica.ParsePublicURL(publicURL); err != nil {
			return err
		}
		sender, err := webhook.New(webhook.Config{Lookup: w.lookup, References: file.WebhookSecrets, Allow: prefixes})
		if err != nil {
			return err
		}
		return w.ask(cmd, func(ctx context.Context, s *store.Store) error {
			id, err := resolve(ctx, cmd, s, webhookRow, args[0])
			if err != nil {
				return err
			}
			found, err := s.FindWebhook(ctx, id)
			if errors.Is(err, store.ErrNotFound) {
				return noSuchWebhook(id)
			}
			if err != nil {
				return err
			}
			return w.try(ctx, cmd, s, sender, found, publicURL)
		})
	}
	replica.RegisterWebhookAllow(cmd.Flags(), &allow)
	replica.RegisterPublicURL(cmd.Flags(), &publicURL)
	cmd.Flags().StringVar(&configPath, "config", "", "YAML `file` whose webhook_secrets lists the env: and file: that may be read")
	return cmd
}

// try sends the sample. Anything but a 2xx is a failure of the command too.
func (w *webhookCommand) try(ctx context.Context, cmd *cobra.Command, s *store.Store, sender *webhook.Sender, to store.Webhook, publicURL string) error {
	id := "msg_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	body, contentType, err := s.SampleMessage(ctx, to.ID, id, publicURL)
	if err != nil {
		return err
	}
	begun := time.Now()
	answer := sender.Send(ctx, notifier.Message{ID: id, Body: body, ContentType: contentType, URL: text(to.URL), SecretRef: text(to.SecretRef)})
	took := time.Since(begun)
	if answer.Unready {
		return fmt.Errorf("nothing was sent to webhook %d: %s", to.ID, strings.ReplaceAll(cmp.Or(answer.Named, answer.Problem), "this replica", "this environment"))
	}
	if answer.Code == 0 {
		return fmt.Errorf("webhook %d: %s", to.ID, answer.Problem)
	}
	const shownBody = 2000 // runes
	said := []rune(string(answer.Body))
	t := cli.Table{Columns: []cli.Column{cli.Whole("WEBHOOK"), cli.Whole(strconv.FormatInt(to.ID, 10))}, Uncut: true, Rows: [][]string{
		{"message", id},
		{"signed", strconv.FormatBool(to.SecretRef != nil)},
		{"status", strconv.Itoa(answer.Code)},
		{"took", took.Round(time.Millisecond).String()},
		{"body", string(said[:min(len(said), shownBody)])},
	}}
	err = w.out.Write(cmd, struct {
		WebhookID int64   `json:"webhook_id"`
		MessageID string  `json:"message_id"`
		Signed    bool    `json:"signed"`
		Status    int     `json:"status"`
		TookMS    float64 `json:"took_ms"`
		Body      string  `json:"body"` // its first 16 KiB
	}{to.ID, id, to.SecretRef != nil, answer.Code, float64(took.Microseconds()) / 1000, string(answer.Body)}, t)
	if err == nil && answer.Problem != "" {
		err = fmt.Errorf("webhook %d %s", to.ID, answer.Problem)
	}
	return err
}
