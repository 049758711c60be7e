package replica

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/api"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/ui"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/notifier"
	"github.com/rowrun/rowrun/notifier/webhook"
	"github.com/rowrun/rowrun/store"
)

// Dashboard is what a process is told of the pages and their API.
type Dashboard struct {
	// UI is on, read-only or off.
	UI string
	// Prefix is "" or a path such as /rowrun.
	Prefix string
	// HideData leaves out payloads, inputs, results and logs.
	HideData bool
	// Operators may act; Validate reads them.
	Operators []auth.Operator

	operators []string // NAME=env:… as they were given
}

// Register adds the flags.
func (d *Dashboard) Register(flags *pflag.FlagSet) {
	cli.Choice(flags, &d.UI, "ui", "on", "the dashboard and its API on --http-addr; read-only: nobody acts there", "on", "read-only", "off")
	flags.StringVar(&d.Prefix, "http-prefix", "", "`path` below which the dashboard is served, such as /rowrun, where a proxy passes it on")
	flags.BoolVar(&d.HideData, "ui-hide-data", false, "show no payload, input, result or log on the dashboard")
	flags.StringArrayVar(&d.operators, "http-operator-token", nil, "`NAME=env:VARIABLE` or NAME=file:PATH: the token of somebody who may act on the dashboard, told by that name; several times, or separated by commas")
}

// Validate reads the tokens and refuses what can't work. read is the token that reads.
func (d *Dashboard) Validate(lookup func(string) (string, bool), read string) error {
	if d.UI == "" {
		d.UI = "on"
	}
	if d.Prefix = strings.TrimRight(d.Prefix, "/"); d.Prefix != "" && !validPrefix(d.Prefix) {
		return cli.Usagef("--http-prefix: %q is not accepted; accepted: a path of letters, digits, - _ . and /, such as /rowrun", d.Prefix)
	}
	for _, given := range d.operators {
		for one := range strings.SplitSeq(given, ",") {
			if err := d.operator(strings.TrimSpace(one), lookup, read); err != nil {
				return err
			}
		}
	}
	d.operators = nil
	return nil
}

// Draw has somebody of this name act by a token that is drawn for this process, where the dashboard is on and nobody else was
// given one; its token, "": none was drawn.
func (d *Dashboard) Draw(name string) string {
	if d.UI != "on" || len(d.Operators) > 0 {
		return ""
	}
	token := rand.Text()
	d.Operators = []auth.Operator{{Name: name, Token: token}}
	return token
}

// Address is where a browser on this machine finds the dashboard of a process that listens on addr; what stands behind #, the
// token to sign in with, is sent to nobody before.
func (d *Dashboard) Address(addr, token string) string {
	if host, port, err := net.SplitHostPort(addr); err == nil && (host == "" || net.ParseIP(host).IsUnspecified()) {
		addr = net.JoinHostPort("localhost", port)
	}
	url := "http://" + addr + d.Prefix + "/"
	if token != "" {
		url += "#token=" + token
	}
	return url
}

func validPrefix(path string) bool {
	odd := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./", r)
	}
	return strings.HasPrefix(path, "/") && !strings.ContainsFunc(path, odd) && !strings.Contains(path, "//") && !strings.Contains(path, "..")
}

func (d *Dashboard) operator(given string, lookup func(string) (string, bool), read string) error {
	const flag = "--http-operator-token"
	name, value, found := strings.Cut(given, "=")
	odd := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) && r != ' ' }
	if !found || strings.TrimSpace(name) != name || name == "" || len(name) > 100 || strings.ContainsFunc(name, odd) {
		return cli.Usagef("%s: is not accepted; accepted: NAME=env:VARIABLE or NAME=file:PATH", flag)
	}
	token, err := cli.ResolveToken(flag+" "+name, value, lookup)
	switch {
	case err != nil:
		return err
	case token == "":
		return cli.Usagef("%s %s: is empty; accepted: NAME=env:VARIABLE or NAME=file:PATH", flag, name)
	case token == read:
		return cli.Usagef("%s %s: is the token of --http-token, which reads only: give each a token of its own", flag, name)
	case slices.ContainsFunc(d.Operators, func(o auth.Operator) bool { return o.Name == name || o.Token == token }):
		return cli.Usagef("%s %s: that name, or its token, was given before: who acts is told by it", flag, name)
	}
	d.Operators = append(d.Operators, auth.Operator{Name: name, Token: token})
	return nil
}

// board is an API with what it needs from a process.
type board struct {
	store      *store.Store
	hub        *events.Hub
	deployment string
	name       string
	shard      string // "": there are none
	version    string
	slots      int
	sender     *webhook.Sender // nil: webhooks aren't tested from here
	publicURL  string
	log        zerolog.Logger
}

// makeAPI makes what answers the dashboard; unsubscribe has it hear no more. nil: there is none.
func (d *Dashboard) makeAPI(b board) (a *api.API, kept *api.History, unsubscribe func(), err error) {
	kept = api.NewHistory()
	if d.UI == "off" {
		return nil, kept, func() {}, nil
	}
	_, unsubscribe = b.hub.Subscribe(func(t events.Transition) bool {
		kept.Transition(t.To)
		return false // it only counts
	})
	config := api.Config{
		Store: b.store, Pages: ui.Handler(), ReadOnly: d.UI == "read-only", Operators: len(d.Operators) > 0, HideData: d.HideData,
		Version: b.version, Deployment: b.deployment, Replica: b.name, Shard: b.shard, History: kept, Slots: b.slots, Log: b.log,
	}
	if b.sender != nil {
		config.Test = func(ctx context.Context, id int64) (string, error) {
			return testWebhook(ctx, b.store, b.sender, b.publicURL, id)
		}
	}
	a, err = api.New(config)
	return a, kept, unsubscribe, err
}

// handler is what a server is given; nil: nothing.
func handler(a *api.API) func(*auth.Guard) http.Handler {
	if a == nil {
		return nil
	}
	return a.Handler
}

// testWebhook sends a sample; what went wrong, in words that name neither URL nor secret.
func testWebhook(ctx context.Context, s *store.Store, sender *webhook.Sender, publicURL string, id int64) (problem string, err error) {
	to, err := s.FindWebhook(ctx, id)
	if err != nil {
		return "", err
	}
	message := notifier.Message{ID: "msg_" + strings.ReplaceAll(uuid.NewString(), "-", "")}
	if message.Body, message.ContentType, err = s.SampleMessage(ctx, id, message.ID, publicURL); err != nil {
		return "", err
	}
	if to.URL != nil {
		message.URL = *to.URL
	}
	if to.SecretRef != nil {
		message.SecretRef = *to.SecretRef
	}
	return sender.Send(ctx, message).Problem, nil
}
