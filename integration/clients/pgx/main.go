// Command pgx inserts jobs with pgx, and hears of their end by LISTEN.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	db, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()

	// The order and its job: both or neither.
	var key string
	var id, again int64
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		var order int64
		if err := tx.QueryRow(ctx, "INSERT INTO shop_order (total) VALUES (30) RETURNING id").Scan(&order); err != nil {
			return err
		}
		key = fmt.Sprintf("order %d", order)
		return tx.QueryRow(ctx, "SELECT rowrun.run_task('send receipt', $1::jsonb, idempotency_key => $2)",
			map[string]any{"order": order}, key).Scan(&id)
	})
	if err != nil {
		return err
	}

	// Many in one statement.
	copies := []map[string]any{{"copy": 1}, {"copy": 2}, {"copy": 3}}
	if _, err := db.Exec(ctx, "SELECT rowrun.enqueue_many('send receipt', $1::jsonb)", copies); err != nil {
		return err
	}

	// Once more: the key gives the run that is there.
	if err := db.QueryRow(ctx, "SELECT rowrun.run_task('send receipt', idempotency_key => $1)", key).Scan(&again); err != nil {
		return err
	}

	// LISTEN before the first look, or its end may come between. A notification says only that there is something to see.
	if _, err := db.Exec(ctx, "LISTEN rowrun_task_run"); err != nil {
		return err
	}
	for {
		var status string
		if err := db.QueryRow(ctx, "SELECT status FROM rowrun.job WHERE root_id = $1", id).Scan(&status); err != nil {
			return err
		}
		if status == "DONE" || status == "FAILED" || status == "CANCELED" {
			fmt.Printf("run %d, again %d: %s\n", id, again, status)
			return nil
		}
		if _, err := db.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}
