package commands

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/scheduler/wake"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/connect"
)

const (
	// waitPoll is how often to look where no notification said so.
	waitPoll = time.Second
	// waitPause keeps a busy deployment's notifications from becoming as many looks.
	waitPause = 20 * time.Millisecond
)

// errOver ends a wait whose --timeout is over.
var errOver = errors.New("the time to wait is over")

// watching is what a command has that waits for something to end.
type watching struct {
	store *store.Store
	wake  <-chan struct{}
	over  <-chan time.Time // nil: there is no --timeout
	log   zerolog.Logger
	shown *cli.Progress
}

// awaiting completes a command that waits for the end of the row that the ID on its command line names.
func (c *client) awaiting(what thing, cmd *cobra.Command, wait func(context.Context, *cobra.Command, *watching, int64) error) *cobra.Command {
	var timeout time.Duration
	cmd.Args = cli.Arguments(strings.TrimPrefix(cmd.Use, cmd.Name()+" "))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkNamed(cmd, what, args[0]); err != nil {
			return err
		}
		if timeout < 0 {
			return cli.Usagef("--timeout: %s is not accepted; accepted: a duration, or 0 for none", timeout)
		}
		s, err := c.open(cmd)
		if err != nil {
			return err
		}
		defer s.Close()
		var id int64
		err = asking(cmd.Context(), func(ctx context.Context) error {
			id, err = resolve(ctx, cmd, s, what, args[0])
			return err
		})
		if err != nil {
			return err
		}
		return c.listening(cmd, s, timeout, func(ctx context.Context, w *watching) error { return wait(ctx, cmd, w, id) })
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait; 0: for ever")
	return cmd
}

// listening calls wait with a LISTEN beside it that wakes it at each end of a run.
func (c *client) listening(cmd *cobra.Command, s *store.Store, timeout time.Duration, wait func(context.Context, *watching) error) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	hub := events.NewHub()
	ended, unsubscribe := hub.Subscribe(wake.Ends)
	defer unsubscribe()
	config, err := connect.Parse(c.database.DirectURL)
	if err != nil {
		return err
	}
	listener, err := events.NewListener(events.ListenConfig{ConnConfig: config, Channel: store.Channel, Hub: hub})
	if err != nil {
		return err
	}
	listened := make(chan error, 1)
	go func() { listened <- listener.Run(ctx) }()
	defer func() {
		cancel()
		<-listened //nolint:errcheck // polling does without it, so that its error changes nothing
	}()
	w := &watching{store: s, wake: ended, log: c.log.ForPerson(cmd), shown: cli.NewProgress(cmd.ErrOrStderr(), c.lookup)}
	defer w.shown.Clear()
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		w.over = timer.C
	}
	return wait(ctx, w)
}

// until looks after each wake, and each second without one, until look says that it is over. An outage is waited out.
func (w *watching) until(ctx context.Context, look func(ctx context.Context, s *store.Store) (over bool, err error)) error {
	defer w.shown.Clear()
	said := ""
	for {
		asking, cancel := context.WithTimeout(ctx, database.AnswerPatience)
		over, err := look(asking, w.store)
		cancel()
		var absent *absentError
		switch trouble := connect.Diagnose(err); {
		case err == nil && over:
			return nil
		case err == nil:
			said = ""
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &absent):
			return err
		case !trouble.Wait:
			return database.InWords(err)
		case trouble.Text != said:
			said = trouble.Text
			w.shown.Clear()
			w.log.Warn().Str("cause", said).Msg("database does not answer, waiting for it")
		}
		if err := w.pause(ctx, waitPause, nil); err != nil {
			return err
		}
		if err := w.pause(ctx, waitPoll, w.wake); err != nil {
			return err
		}
	}
}

// pause waits for d or wake, and fails where the command or the whole time ends first.
func (w *watching) pause(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.over:
		return errOver
	case <-wake:
	case <-timer.C:
	}
	return nil
}
