package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/notifier/webhook"
)

func (w *webhookCommand) listen() *cobra.Command {
	var addr, secretRef string
	r := receiver{seen: map[string]struct{}{}}
	cmd := &cobra.Command{
		Use:   "listen",
		Short: "Receive messages on this machine, check their signatures and print them",
		Long: "Receive messages on this machine, check their signatures and print them, until it is interrupted. For trying a\n" +
			"webhook before there is a receiver: one with the URL http://127.0.0.1:8486/ and a sidecar on this machine with\n" +
			"--webhook-allow-cidr 127.0.0.0/8. A message whose signature doesn't fit is printed as REFUSED, and answered with\n" +
			"401. It needs no database. It listens on loopback only.",
		Example: "  rowrun webhook listen --secret-ref env:ONCALL_SECRET\n" +
			"  rowrun webhook listen --answer 503   # how are tries repeated?",
		Args: cli.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLoopback(addr); err != nil {
				return err
			}
			if r.code < 200 || r.code > 599 {
				return cli.Usagef("--answer: %d is not accepted; accepted: an HTTP status, 200 to 599", r.code)
			}
			if r.most < 0 {
				return cli.Usagef("--count: %d is not accepted; accepted: 0 (no end) or more", r.most)
			}
			if secretRef != "" {
				var err error
				if r.verifier, err = webhook.NewVerifier(secretRef, w.lookup); err != nil {
					return cli.Usagef("--secret-ref: %s", strings.ReplaceAll(err.Error(), "this replica", "this environment"))
				}
			}
			r.show = func(m received) error { return w.showReceived(cmd, m) }
			return r.run(cmd, addr)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&addr, "listen-addr", "127.0.0.1:8486", "`host:port` of loopback to listen on")
	flags.StringVar(&secretRef, "secret-ref", "", "env:NAME or file:PATH of the signing secret; empty: signatures are not checked")
	flags.IntVar(&r.code, "answer", http.StatusNoContent, "HTTP `status` that is answered where the signature fits")
	flags.IntVar(&r.most, "count", 0, "end after so many messages; 0: when interrupted")
	return cmd
}

// checkLoopback refuses an address that others could reach: whoever can send prints what they like on this terminal.
func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err == nil && host != "localhost" {
		var ip netip.Addr
		if ip, err = netip.ParseAddr(host); err == nil && !ip.IsLoopback() {
			err = errors.New("not loopback")
		}
	}
	if err != nil {
		return cli.Usagef("--listen-addr: %q is not accepted; accepted: host:port of loopback such as 127.0.0.1:8486", addr)
	}
	return nil
}

// The verdicts on a message.
const (
	verified   = "VERIFIED"
	unsigned   = "UNSIGNED"
	notChecked = "NOT_CHECKED" // it is signed, and no secret was given
	refused    = "REFUSED"
)

// received is one message as it is shown.
type received struct {
	At        time.Time `json:"at"`
	MessageID string    `json:"message_id"`
	Verdict   string    `json:"verdict"`
	// Reason is why it was refused.
	Reason string `json:"reason,omitempty"`
	// Again: an id that was there before.
	Again    bool `json:"again"`
	Answered int  `json:"answered"`
	// Body is the JSON that came, or whatever came as a text.
	Body json.RawMessage `json:"body"`
	raw  []byte
}

// receiver takes messages, judges and shows them, one at a time.
type receiver struct {
	verifier   *webhook.Verifier // nil: signatures are not checked
	code, most int
	show       func(received) error

	mu     sync.Mutex
	seen   map[string]struct{}
	count  int
	ended  context.CancelFunc
	broken error // nothing more can be shown
}

const (
	maxReceived  = 64 << 10
	maxSeen      = 10_000
	shortTimeout = 5 * time.Second
)

func (r *receiver) run(cmd *cobra.Command, addr string) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	r.ended = cancel
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for messages: %w; --listen-addr takes another address", err)
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "listening on http://%s/ (sidecars need --webhook-allow-cidr %s)\n", listener.Addr(), network(listener.Addr()))
	if r.verifier == nil {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "signatures are not checked: --secret-ref names the secret")
	}
	server := http.Server{Handler: r, ReadHeaderTimeout: shortTimeout, ReadTimeout: shortTimeout, WriteTimeout: shortTimeout}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		last, done := context.WithTimeout(context.WithoutCancel(ctx), shortTimeout)
		defer done()
		_ = server.Shutdown(last) // what was shown is answered
	}()
	err = server.Serve(listener)
	cancel()
	<-stopped
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listen for messages: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

func network(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.To4() == nil {
		return "::1/128"
	}
	return "127.0.0.0/8"
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		http.Error(w, "messages come by POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReceived))
	if err != nil {
		http.Error(w, "a message has at most 64 KiB", http.StatusRequestEntityTooLarge)
		return
	}
	m := r.judge(req.Header, body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most > 0 && r.count >= r.most {
		http.Error(w, "this receiver has ended", http.StatusServiceUnavailable)
		return
	}
	if _, m.Again = r.seen[m.MessageID]; m.Verdict != refused {
		if len(r.seen) >= maxSeen {
			clear(r.seen)
		}
		r.seen[m.MessageID] = struct{}{}
	}
	r.count++
	w.WriteHeader(m.Answered)
	if r.broken = r.show(m); r.broken != nil || r.count == r.most {
		r.ended()
	}
}

// judge says what is to be thought of a message.
func (r *receiver) judge(header http.Header, body []byte) received {
	m := received{At: time.Now(), MessageID: header.Get("webhook-id"), Answered: r.code, raw: body}
	if json.Valid(body) {
		m.Body = body
	} else if text, err := json.Marshal(string(body)); err == nil {
		m.Body = text
	}
	switch {
	case r.verifier != nil:
		m.Verdict = verified
		if err := r.verifier.Verify(header, body); err != nil {
			m.Verdict, m.Reason, m.Answered = refused, err.Error(), http.StatusUnauthorized
		}
	case header.Get("webhook-signature") != "":
		m.Verdict = notChecked
	default:
		m.Verdict = unsigned
	}
	return m
}

// showReceived prints a message; nothing of it reaches the terminal's control.
func (w *webhookCommand) showReceived(cmd *cobra.Command, m received) error {
	if !w.out.ForPeople() {
		if w.out.Format == "yaml" {
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), "---"); err != nil {
				return err
			}
		}
		return w.out.Write(cmd, m, cli.Table{Columns: []cli.Column{cli.Whole("MESSAGE")}, Rows: [][]string{{m.MessageID}}})
	}
	said := m.Verdict
	if m.Reason != "" {
		said += ": " + m.Reason
	}
	if m.Again {
		said += ", again"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s %s, answered %d\n", m.At.Format(time.TimeOnly), cli.Printable(m.MessageID), said, m.Answered)
	var indented bytes.Buffer
	if json.Indent(&indented, m.raw, "", "  ") != nil {
		indented.Reset()
		indented.Write(m.raw)
	}
	for line := range strings.SplitSeq(strings.TrimRight(indented.String(), "\n"), "\n") {
		// The indentation is ours, the rest is whoever sent it.
		bare := strings.TrimLeft(line, " ")
		text.WriteString("  " + line[:len(line)-len(bare)] + cli.Printable(bare) + "\n")
	}
	_, err := io.WriteString(cmd.OutOrStdout(), text.String())
	return err
}
