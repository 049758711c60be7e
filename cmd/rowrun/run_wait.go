package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

const (
	// waitPoll is how often to look where no notification said so.
	waitPoll = time.Second
	// waitPause keeps a busy deployment's notifications from becoming as many looks.
	waitPause = 20 * time.Millisecond
)

func (r *runCommand) wait() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait ID",
		Short: "Wait until the job of a run has ended, retries included; exit 0 if it is DONE",
		Long: "Wait until the chain that ID belongs to has ended: its last run is DONE, CANCELED, or FAILED for good.\n" +
			"Prints that run. Exit code 0 if it is DONE, otherwise 1, also where --timeout is over first.",
		Args: arguments("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(cmd, args[0])
			if err != nil {
				return err
			}
			if timeout < 0 {
				return usagef("--timeout: %s is not accepted; accepted: a duration, or 0 for none", timeout)
			}
			s, err := r.open(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			run, err := r.await(cmd, s, id, timeout)
			if err != nil {
				return err
			}
			if err := r.out.write(cmd.OutOrStdout(), run, runTable([]store.Run{run})); err != nil {
				return err
			}
			if run.Status != "DONE" {
				return fmt.Errorf("run %d ended %s", run.ID, run.Status)
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait; 0: for ever")
	return cmd
}

// await listens and polls until the chain of id has ended.
func (r *runCommand) await(cmd *cobra.Command, s *store.Store, id int64, timeout time.Duration) (store.Run, error) {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	hub := events.NewHub()
	wake, unsubscribe := hub.Subscribe(ends)
	defer unsubscribe()
	config, err := pgx.ParseConfig(r.database.DirectURL)
	if err != nil {
		return store.Run{}, errors.New("not a connection string") // resolve has parsed it before
	}
	listener, err := events.NewListener(events.ListenConfig{ConnConfig: config, Channel: store.Channel, Hub: hub})
	if err != nil {
		return store.Run{}, err
	}
	listened := make(chan error, 1)
	go func() { listened <- listener.Run(ctx) }()
	defer func() {
		cancel()
		<-listened //nolint:errcheck // polling does without it, so that its error changes nothing
	}()

	var over <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		over = timer.C
	}
	log := r.log.logger(cmd.ErrOrStderr())
	return poll(ctx, s, id, wake, over, log)
}

// poll looks after each wake, and each second without one. An outage is waited out.
func poll(ctx context.Context, s *store.Store, id int64, wake <-chan struct{}, over <-chan time.Time, log zerolog.Logger) (store.Run, error) {
	var run store.Run
	said := ""
	for {
		look, cancel := context.WithTimeout(ctx, answerPatience)
		now, err := s.LastRun(look, id)
		cancel()
		switch trouble := diagnose(err); {
		case err == nil && now.Ended() && now.RetryRunID == nil:
			return now, nil
		case err == nil:
			run, said = now, ""
		case ctx.Err() != nil:
			return run, ctx.Err()
		case errors.Is(err, store.ErrNotFound):
			return run, noSuchRun(id)
		case !trouble.wait:
			return run, inWords(err)
		case trouble.text != said:
			said = trouble.text
			log.Warn().Str("cause", said).Msg("database does not answer, waiting for it")
		}
		if err := pauseOr(ctx, over, waitPause, nil); err != nil {
			return run, gaveUp(err, id, run)
		}
		if err := pauseOr(ctx, over, waitPoll, wake); err != nil {
			return run, gaveUp(err, id, run)
		}
	}
}

var errOver = errors.New("the time to wait is over")

// pauseOr waits for d or wake, and fails where ctx or the whole time ends first.
func pauseOr(ctx context.Context, over <-chan time.Time, d time.Duration, wake <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-over:
		return errOver
	case <-wake:
	case <-timer.C:
	}
	return nil
}

func gaveUp(err error, id int64, run store.Run) error {
	switch {
	case !errors.Is(err, errOver):
		return err
	case run.ID == 0:
		return fmt.Errorf("%w: run %d could not be looked at", err, id)
	}
	return fmt.Errorf("%w: run %d is %s; `rowrun run why %d` may tell more", err, run.ID, run.Status, run.ID)
}
