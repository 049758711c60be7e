package commands

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/notifier/egress"
)

const (
	// replicaSilence is how long a replica may say nothing; it sends a comment every 15 s.
	replicaSilence = 40 * time.Second
	replicaRetry   = time.Second
	maxEventLine   = 1 << 20
	maxRefusal     = 512
)

// errRefused is an answer that asking again doesn't change.
var errRefused = errors.New("the replica refuses")

// eventsURL completes the address of a replica to that of its /events.
func eventsURL(replica string, filter *lineFilter) (*url.URL, error) {
	address, err := url.Parse(replica)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" || address.User != nil ||
		address.RawQuery != "" || !regexp.MustCompile(`^/*$|/shards/[a-z0-9][a-z0-9_-]*/*$`).MatchString(address.Path) {
		return nil, cli.Usagef("--replica: not an address of a replica; accepted: http://host:port, as its --http-addr says, or http://host:port/shards/NAME")
	}
	address.Path = strings.TrimRight(address.Path, "/") + "/events"
	address.RawQuery = filter.query().Encode()
	return address, nil
}

// copyReplica prints the /events of a replica until ctx ends or nobody reads
// any more. A connection that is lost is made again, from the last line on.
func copyReplica(ctx context.Context, c *streamConfig, printer *stream.Printer, log zerolog.Logger) error {
	client, err := egress.NewClient(egress.Config{Origin: c.events})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	last, said := c.From, ""
	for {
		err := copyEvents(ctx, client.Do, c, printer, &last)
		switch {
		case ctx.Err() != nil, errors.Is(err, stream.ErrOutput) && errors.Is(err, syscall.EPIPE):
			return nil
		case errors.Is(err, stream.ErrOutput), errors.Is(err, errRefused):
			return err
		case err.Error() != said:
			said = err.Error()
			log.Warn().Err(err).Msg("the replica's stream ended; trying again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(replicaRetry):
		}
	}
}

// copyEvents prints what one connection brings; last is the newest id: of a line, or of the place where the replica says that this
// reader stands. It never returns nil.
func copyEvents(ctx context.Context, do func(*http.Request) (*http.Response, error), c *streamConfig, printer *stream.Printer, last *string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(replicaSilence, func() { cancel(errors.New("no answer in time")) })
	defer silence.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.events.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "text/event-stream")
	if c.HTTPToken != "" {
		request.Header.Set("Authorization", "Bearer "+c.HTTPToken)
	}
	if *last != "" {
		request.Header.Set("Last-Event-ID", *last)
	}
	answer, err := do(request)
	if err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
		err := fmt.Errorf("%s: %s", answer.Status, bytes.TrimSpace(text))
		if answer.StatusCode < 500 {
			err = fmt.Errorf("%w: %w", errRefused, err)
		}
		return err
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxEventLine)
	id := ""
	for lines.Scan() {
		silence.Reset(replicaSilence)
		line := lines.Bytes()
		switch {
		case len(line) == 0:
			if id != "" { // with data or without
				*last = id
			}
			id = ""
		case bytes.HasPrefix(line, []byte("id: ")):
			id = string(line[4:])
		case bytes.HasPrefix(line, []byte("data: ")):
			if err := printer.Copy(line[6:]); err != nil {
				return err
			}
			if id != "" {
				*last = id
			}
		}
	}
	return errors.Join(context.Cause(ctx), lines.Err(), io.ErrUnexpectedEOF)
}
