package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

// webhookEvents and webhookFormats are what the database takes; a test holds them against it.
func webhookEvents() []string {
	return []string{"PIPELINE_FAILED", "PIPELINE_COMPLETED", "RUN_FAILED", "SCHEDULE_PAUSED", "TYPE_ORPHANED"}
}

func webhookFormats() []string {
	return []string{"standard", "slack", "teams", "discord", "cloudevents"}
}

// webhookFlags are the columns of a webhook as flags.
type webhookFlags struct {
	project, name, url, secretRef, format, filter string
	events                                        []string
	enabled                                       bool
}

func (f *webhookFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.project, "project", "default", "`project` whose events it is told of")
	flags.StringVar(&f.name, "name", "", "`name` for people, and for commands that take one")
	flags.StringVar(&f.secretRef, "secret-ref", "", "env:NAME or file:PATH where sidecars find the signing secret; empty: unsigned")
	cli.List(flags, &f.events, "events", nil, "events, separated by commas: "+strings.Join(webhookEvents(), ", ")+" (default: the two of plans)")
	flags.StringVar(&f.filter, "filter", "", "of which tasks without a plan: a `filter` such as task=NAME,type=TYPE,queue=QUEUE,label=KEY:VALUE; empty: of all")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "event" { // one is most that many want
			name = "events"
		}
		return pflag.NormalizedName(name)
	})
	cli.Choice(flags, &f.format, "format", "standard", "what the receiver understands", webhookFormats()...)
	flags.BoolVar(&f.enabled, "enabled", true, "send to it; while false what is addressed to it waits")
}

// change is what the flags say that were given.
func (f *webhookFlags) change(cmd *cobra.Command) (store.WebhookChange, error) {
	said := func(flag string, value *string) *string {
		if !cmd.Flags().Changed(flag) {
			return nil
		}
		return value
	}
	change := store.WebhookChange{
		Project: said("project", &f.project), Name: said("name", &f.name), URL: said("url", &f.url),
		SecretRef: said("secret-ref", &f.secretRef), Format: said("format", &f.format),
	}
	if cmd.Flags().Changed("enabled") {
		change.Enabled = &f.enabled
	}
	if cmd.Flags().Changed("filter") {
		var err error
		if change.Filter, err = webhookFilter(f.filter); err != nil {
			return change, err
		}
	}
	if cmd.Flags().Changed("events") {
		for i, event := range f.events {
			f.events[i] = strings.ToUpper(event)
			if !slices.Contains(webhookEvents(), f.events[i]) {
				return change, cli.Usagef("--events: %q is not accepted; accepted: %s%s", event, strings.Join(webhookEvents(), ", "), cli.DidYouMean(f.events[i], webhookEvents()))
			}
		}
		if change.Events = f.events; len(f.events) == 0 {
			return change, cli.Usagef("--events: none is not accepted; accepted: %s; for silence --enabled=false", strings.Join(webhookEvents(), ", "))
		}
	}
	return change, nil
}

func (w *webhookCommand) create() *cobra.Command {
	var f webhookFlags
	cmd := &cobra.Command{
		Use:   "create URL",
		Short: "Make a webhook, and print its id",
		Long: "Make a webhook, and print its id. URL is http://… or https://…; where it is a secret by itself, as those of chats\n" +
			"are, leave it to the sidecars: env:NAME or file:PATH, which webhook_secrets of their --config lists. As - it is\n" +
			"read from standard input, so that no list of processes shows it. `rowrun webhook test ID` tries it.",
		Example: "  rowrun webhook create env:ONCALL_URL --name on-call --secret-ref env:ONCALL_SECRET\n" +
			"  rowrun webhook create env:SLACK_URL --name releases --format slack --events PIPELINE_FAILED\n" +
			"  rowrun webhook create env:SLACK_URL --name reports --format slack --events RUN_FAILED,TYPE_ORPHANED --filter type=report",
		Args: cli.Arguments("URL"),
	}
	f.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		change, err := f.change(cmd)
		if err != nil {
			return err
		}
		if change.URL, err = webhookURL(cmd, "URL", args[0]); err != nil {
			return err
		}
		return w.ask(cmd, func(ctx context.Context, s *store.Store) error {
			id, err := s.CreateWebhook(ctx, change)
			if err != nil {
				return err
			}
			return w.answer(cmd, struct {
				WebhookID int64 `json:"webhook_id"`
			}{id}, strconv.FormatInt(id, 10))
		})
	}
	return cmd
}

// webhookURL is the URL that is given, or the line on standard input.
func webhookURL(cmd *cobra.Command, flag, given string) (*string, error) {
	if given == "-" {
		text, err := readText(cmd, flag, given)
		if err != nil {
			return nil, err
		}
		given = strings.TrimSpace(text)
	}
	if given == "" {
		return nil, cli.Usagef("%s: is empty; accepted: https://…, http://…, env:NAME, file:PATH, or - for standard input", flag)
	}
	return &given, nil
}

func (w *webhookCommand) update() *cobra.Command {
	var f webhookFlags
	cmd := &cobra.Command{
		Use:   "update ID|NAME",
		Short: "Change a webhook: what isn't given stays as it is",
		Long: "Change a webhook: what isn't given stays as it is. On standard error it says what was changed. Messages that were\n" +
			"made before keep their bytes, and go to the new URL. After a 410 --enabled=true switches it on again.",
		Args: cli.Arguments("ID|NAME"),
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.url, "url", "", "`URL`: http://…, https://…, env:NAME, file:PATH, or - for standard input")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkNamed(cmd, webhookRow, args[0]); err != nil {
			return err
		}
		change, err := f.change(cmd)
		if err != nil {
			return err
		}
		if change.URL != nil {
			if change.URL, err = webhookURL(cmd, "--url", *change.URL); err != nil {
				return err
			}
		}
		if change.Project == nil && change.Name == nil && change.URL == nil && change.SecretRef == nil && change.Events == nil && change.Filter == nil && change.Format == nil && change.Enabled == nil {
			return cli.Usagef("%s: nothing to change is given; see %s --help", cmd.CommandPath(), cmd.CommandPath())
		}
		return w.ask(cmd, func(ctx context.Context, s *store.Store) error {
			id, err := resolve(ctx, cmd, s, webhookRow, args[0])
			if err != nil {
				return err
			}
			return w.updates(ctx, cmd, s, id, change)
		})
	}
	return cmd
}

// updates writes a change, and says what it was.
func (w *webhookCommand) updates(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64, change store.WebhookChange) error {
	was, err := s.FindWebhook(ctx, id)
	if err == nil {
		err = s.ChangeWebhook(ctx, id, change)
	}
	var is store.Webhook
	if err == nil {
		is, err = s.FindWebhook(ctx, id)
	}
	if errors.Is(err, store.ErrNotFound) {
		return noSuchWebhook(id)
	}
	if err != nil {
		return err
	}
	changed := []string{}
	for _, column := range []struct {
		name string
		same bool
	}{
		{"project", was.Project == is.Project},
		{"name", was.Name == is.Name},
		{"url", text(was.URL) == text(is.URL)},
		{"secret_ref", text(was.SecretRef) == text(is.SecretRef)},
		{"events", slices.Equal(was.Events, is.Events)},
		{"filter", string(was.Filter) == string(is.Filter)},
		{"format", was.Format == is.Format},
		{"enabled", was.Enabled == is.Enabled},
	} {
		if !column.same {
			changed = append(changed, column.name)
		}
	}
	if w.out.ForPeople() {
		said := "as it was"
		if len(changed) > 0 {
			said = "changed: " + strings.Join(changed, ", ")
		}
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "webhook %d %s\n", id, said)
	}
	return w.answer(cmd, struct {
		WebhookID int64    `json:"webhook_id"`
		Changed   []string `json:"changed"`
	}{id, changed}, strconv.FormatInt(id, 10))
}

func (w *webhookCommand) remove() *cobra.Command {
	return w.about(webhookRow, &cobra.Command{
		Use:   "delete ID|NAME",
		Short: "Remove a webhook with what is addressed to it",
		Long: "Remove a webhook with all its deliveries, those that are still to be made among them. To have them wait instead:\n" +
			"rowrun webhook update ID --enabled=false.",
	}, func(ctx context.Context, cmd *cobra.Command, s *store.Store, id int64) error {
		found, err := s.FindWebhook(ctx, id)
		if err == nil {
			err = s.DeleteWebhook(ctx, id)
		}
		if errors.Is(err, store.ErrNotFound) {
			return noSuchWebhook(id)
		}
		if err != nil {
			return err
		}
		if found.Pending > 0 && w.out.ForPeople() {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%d deliveries that were still to be made are gone with it\n", found.Pending)
		}
		return w.answer(cmd, struct {
			WebhookID int64 `json:"webhook_id"`
			Deleted   bool  `json:"deleted"`
		}{id, true}, "deleted")
	})
}
