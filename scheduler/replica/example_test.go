package replica_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/scheduler/replica"
)

// thumbnail runs tasks of type THUMBNAIL, whose payload is {"file": "cat.png", "width": 320}.
func thumbnail(ctx context.Context, run *replica.TaskRun) (replica.Result, error) {
	var p struct {
		File  string
		Width int
	}
	if err := run.Decode(&p); err != nil {
		return replica.Result{}, err
	}
	if p.Width <= 0 {
		return replica.Result{}, replica.BadInput("width must be above 0, not %d", p.Width)
	}
	for percent := 50; percent <= 100; percent += 50 {
		if ctx.Err() != nil { // canceled, out of time, drained: stop at once
			return replica.Result{}, context.Cause(ctx)
		}
		if err := run.Progress(ctx, map[string]int{"percent": percent}); err != nil {
			return replica.Result{}, err
		}
	}
	return replica.Result{Output: map[string]any{"made": fmt.Sprintf("%d-%s", p.Width, p.File)}}, nil
}

// serve runs tasks until ctx ends, and returns when nothing of it is left running.
func serve(ctx context.Context, url string) error {
	return replica.Run(ctx, url, replica.Config{
		Executors: map[string]replica.Executor{"THUMBNAIL": replica.ExecutorFunc(thumbnail)},
		Log:       zerolog.New(os.Stderr).With().Timestamp().Logger(),
	})
}

func Example() {
	url, stop := startDatabase() // in place of yours
	defer stop()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- serve(ctx, url) }()

	for _, run := range insertAndAwait(url, // from anywhere, in any language
		`INSERT INTO rowrun.task (name, type, payload) VALUES ('thumbnail', 'THUMBNAIL', '{"width": 320}')`,
		`SELECT rowrun.run_task('thumbnail', '{"file": "cat.png"}')`,
		`SELECT rowrun.run_task('thumbnail', '{"file": "dog.png", "width": 0}')`,
	) {
		fmt.Println(run)
	}
	cancel() // as SIGTERM does
	if err := <-served; err != nil {
		log.Print(err)
	}
	// Output:
	// DONE {"made": "320-cat.png"}
	// FAILED {"code": "BAD_INPUT", "detail": "width must be above 0, not 0"}
}
