// Command gorm inserts jobs with GORM.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Order is a row of the app's own.
type Order struct {
	ID    int64
	Total float64
}

// TableName is the table of orders.
func (Order) TableName() string { return "shop_order" }

// Run has what an app writes; the rest is filled in. AutoMigrate has no business in this schema.
type Run struct {
	ID             int64
	TaskID         int64
	Input          json.RawMessage `gorm:"type:jsonb"`
	IdempotencyKey *string
}

// TableName is the table of runs.
func (Run) TableName() string { return "rowrun.task_run" }

func main() {
	db, err := gorm.Open(postgres.Open(os.Getenv("DATABASE_URL")), &gorm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := run(db); err != nil {
		log.Fatal(err)
	}
}

func run(db *gorm.DB) error {
	var task int64
	if err := db.Raw("SELECT id FROM rowrun.task WHERE name = 'send receipt' AND plan_id IS NULL").Scan(&task).Error; err != nil {
		return err
	}

	// The order and its job: both or neither.
	var first Run
	err := db.Transaction(func(tx *gorm.DB) error {
		order := Order{Total: 30}
		if err := tx.Create(&order).Error; err != nil {
			return err
		}
		key := fmt.Sprintf("order %d", order.ID)
		first = Run{TaskID: task, Input: json.RawMessage(fmt.Sprintf(`{"order": %d}`, order.ID)), IdempotencyKey: &key}
		return tx.Create(&first).Error
	})
	if err != nil {
		return err
	}

	// Many in one statement. An input that is nil is NULL, and gets its default.
	copies := []Run{{TaskID: task}, {TaskID: task}, {TaskID: task, Input: json.RawMessage(`{"copy": 3}`)}}
	if err := db.Create(&copies).Error; err != nil {
		return err
	}

	// Once more: the key gives the run that is there.
	again := Run{TaskID: task, Input: first.Input, IdempotencyKey: first.IdempotencyKey}
	err = db.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "task_id"}, {Name: "idempotency_key"}},
		DoUpdates: clause.AssignmentColumns([]string{"input"}),
	}).Create(&again).Error
	if err != nil {
		return err
	}

	// The job's status, over all its attempts.
	var status string
	for !slices.Contains([]string{"DONE", "FAILED", "CANCELED"}, status) {
		time.Sleep(100 * time.Millisecond)
		if err := db.Raw("SELECT status FROM rowrun.job WHERE root_id = ?", first.ID).Scan(&status).Error; err != nil {
			return err
		}
	}
	fmt.Printf("run %d, again %d: %s\n", first.ID, again.ID, status)
	return nil
}
