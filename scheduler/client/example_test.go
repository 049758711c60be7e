package client_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/rowrun/rowrun/scheduler/client"
)

// receipt is the input of the task "send receipt".
type receipt struct {
	Order int64 `json:"order"`
}

// order takes an order, and has its receipt sent: both or neither.
func order(ctx context.Context, db *pgxpool.Pool, total float64) (job int64, err error) {
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		var id int64
		if err := tx.QueryRow(ctx, "INSERT INTO shop_order (total) VALUES ($1) RETURNING id", total).Scan(&id); err != nil {
			return err
		}
		job, err = client.Enqueue(ctx, tx, client.Job{
			Task: "send receipt", Input: receipt{id}, IdempotencyKey: fmt.Sprintf("order %d", id),
		})
		return err
	})
	return job, err
}

// The order and its job are one transaction.
func ExampleEnqueue() {
	url := startShop() // in place of your database
	ctx := context.Background()
	db, err := pgxpool.New(ctx, url)
	if err != nil {
		log.Panic(err)
	}
	defer db.Close()

	job, err := order(ctx, db, 30)
	if err != nil {
		log.Panic(err)
	}
	again, err := client.Enqueue(ctx, db, client.Job{Task: "send receipt", IdempotencyKey: "order 1"})
	if err != nil {
		log.Panic(err)
	}
	fmt.Println("the same job:", again == job)

	_, err = client.Enqueue(ctx, db, client.Job{Task: "send recipe"})
	fmt.Println("a wrong name:", errors.Is(err, client.ErrNoTask))
	// Output:
	// the same job: true
	// a wrong name: true
}

// Many runs are one statement.
func ExampleEnqueueMany() {
	url := startShop()
	ctx := context.Background()
	db, err := pgx.Connect(ctx, url)
	if err != nil {
		log.Panic(err)
	}
	defer func() { _ = db.Close(ctx) }()

	tomorrow := time.Now().Add(24 * time.Hour)
	var jobs []client.Job
	for id := range int64(3) {
		jobs = append(jobs, client.Job{Task: "send receipt", Input: receipt{id}, RunAt: tomorrow, Priority: new(int32(-1))})
	}
	ids, err := client.EnqueueMany(ctx, db, jobs)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(len(ids), "ids, in the order of jobs")
	// Output: 3 ids, in the order of jobs
}

// With database/sql, and whatever driver it has.
func ExampleEnqueueSQL() {
	url := startShop()
	ctx := context.Background()
	db, err := sql.Open("pgx", url)
	if err != nil {
		log.Panic(err)
	}
	defer func() { _ = db.Close() }()

	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		log.Panic(err)
	}
	if _, err := client.EnqueueSQL(ctx, tx, client.Job{Task: "send receipt", Input: receipt{7}}); err != nil {
		log.Panic(err)
	}
	if err := tx.Rollback(); err != nil { // and the job was never there
		log.Panic(err)
	}
	var jobs int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM rowrun.job").Scan(&jobs); err != nil {
		log.Panic(err)
	}
	fmt.Println(jobs, "jobs")
	// Output: 0 jobs
}
