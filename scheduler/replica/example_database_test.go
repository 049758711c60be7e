package replica_test

import (
	"context"
	"log"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/embeddedpg"
)

// startDatabase is a server with Rowrun's schema: an example has no test whose end would take one down.
func startDatabase() (url string, stop func()) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cluster, err := embeddedpg.Start(ctx, embeddedpg.Config{Ephemeral: true})
	if err != nil {
		log.Panic(err)
	}
	url = cluster.SocketURL("postgres")
	if _, err := migrations.Up(ctx, migrations.Config{URL: url}); err != nil {
		log.Panic(err)
	}
	return url, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := cluster.Stop(ctx); err != nil {
			log.Panic(err)
		}
	}
}

// insertAndAwait executes statements, waits until all runs have ended, and says how, in their order.
func insertAndAwait(url string, statements ...string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		log.Panic(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			log.Panic(err)
		}
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for open := true; open; <-tick.C {
		if err := conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE finished_at IS NULL) > 0 FROM rowrun.task_run`).Scan(&open); err != nil {
			log.Panic(err)
		}
	}
	rows, err := conn.Query(ctx, `SELECT concat_ws(' ', status, result) FROM rowrun.task_run ORDER BY id`)
	if err != nil {
		log.Panic(err)
	}
	ended, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		log.Panic(err)
	}
	return ended
}
