package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/store"
)

// thumbnails runs tasks of type THUMBNAIL, whose payload is {"file": "cat.png", "width": 320}.
type thumbnails struct{}

func (thumbnails) Execute(ctx context.Context, run *scheduler.Run) (scheduler.Result, error) {
	var p struct {
		File  string
		Width int
	}
	if err := run.Decode(&p); err != nil {
		return scheduler.Result{}, err
	}
	if p.Width <= 0 {
		return scheduler.Result{}, scheduler.BadInput("width must be above 0, not %d", p.Width)
	}
	for percent := 50; percent <= 100; percent += 50 {
		if ctx.Err() != nil { // canceled, out of time, drained: stop at once
			return scheduler.Result{}, context.Cause(ctx)
		}
		if err := run.Progress(ctx, map[string]int{"percent": percent}); err != nil {
			return scheduler.Result{}, err
		}
	}
	return scheduler.Result{Output: map[string]any{"made": fmt.Sprintf("%d-%s", p.Width, p.File)}}, nil
}

// serve runs tasks until ctx ends, and returns when nothing of it is left running.
func serve(ctx context.Context, url string) error {
	const lease = 30 * time.Second
	database, err := store.Open(ctx, store.Config{URL: url, AppName: "thumbnails", Lease: lease})
	if err != nil {
		return err
	}
	defer database.Close()

	// Without these the sweeps find everything, some seconds later.
	hub := events.NewHub()
	wake, _ := hub.Subscribe(nil)
	available, _ := hub.Subscribe(nil)
	ended, _ := hub.Subscribe(nil)
	conn, err := pgx.ParseConfig(url)
	if err != nil {
		return err
	}
	listener, err := events.NewListener(events.ListenConfig{ConnConfig: conn, Channel: store.Channel, Hub: hub})
	if err != nil {
		return err
	}

	replica, err := scheduler.New(scheduler.Config{
		Store:      database,
		Executors:  map[string]scheduler.Executor{"THUMBNAIL": thumbnails{}},
		Name:       "thumbnails",
		StaleAfter: lease, // the same as the store's
		Wake:       wake, Available: available, Ended: ended,
	})
	if err != nil {
		return err
	}
	listening, deafen := context.WithCancel(context.WithoutCancel(ctx)) // cancels arrive during the drain too
	heard := make(chan error, 1)
	go func() { heard <- listener.Run(listening) }()
	err = replica.Run(ctx)
	deafen()
	return errors.Join(err, <-heard)
}

// A program with a main and a task type of its own.
func Example() {
	url, stop := startDatabase() // in place of yours
	defer stop()
	ctx, cancel := context.WithCancel(context.Background()) // yours: signal.NotifyContext
	served := make(chan error, 1)
	go func() { served <- serve(ctx, url) }()

	for _, run := range insertAndAwait(url, // from anywhere, in any language
		`INSERT INTO rowrun.task (name, type, payload) VALUES ('thumbnail', 'THUMBNAIL', '{"width": 320}')`,
		`SELECT rowrun.run_task('thumbnail', '{"file": "cat.png"}')`,
		`SELECT rowrun.run_task('thumbnail', '{"file": "dog.png", "width": 0}')`,
	) {
		fmt.Println(run)
	}
	cancel()
	if err := <-served; err != nil {
		log.Print(err)
	}
	// Output:
	// DONE {"made": "320-cat.png"}
	// FAILED {"code": "BAD_INPUT", "detail": "width must be above 0, not 0"}
}
