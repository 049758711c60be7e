package rowruntest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/migrations"
)

// Schema makes Rowrun's schema in the database at url, or brings it up to date; it takes milliseconds where there is nothing
// to do. The role owns the schema then: it needs CREATE on the database, and CREATEROLE. In a database that was
// copied from a template with the schema, it tells the copy that it is one, without which no replica works there.
func Schema(t testing.TB, url string) {
	t.Helper()
	if err := Migrate(t.Context(), url); err != nil {
		t.Fatalf("rowruntest: %v", err)
	}
}

// Migrate is Schema where there is no test yet, as in TestMain, or for a template.
func Migrate(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if _, err := migrations.Up(ctx, migrations.Config{URL: url}); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var copied bool
	if err := conn.QueryRow(ctx, `SELECT rowrun.deployment_elsewhere()`).Scan(&copied); err != nil {
		return fmt.Errorf("look whether the database is a copy: %w", err)
	}
	if copied {
		_, err = migrations.Renew(ctx, migrations.Config{URL: url}, true)
	}
	return err
}
