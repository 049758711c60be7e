package storetest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver that pgtestdb opens
	"github.com/peterldowns/pgtestdb"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/embeddedpg"
)

// New makes a database with Rowrun's schema on the shared server and returns its
// connection string (unix socket, superuser). After the test its slots and the
// database are dropped; a failed test keeps it until the binary ends.
func New(t testing.TB) string {
	t.Helper()
	url := clone(t, migrated{})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// Databases are copies, and know it; slots belong to the server, and are named after the deployment.
	if err := exec(ctx, url, "SELECT rowrun.renew_deployment(true)"); err != nil {
		t.Fatalf("storetest: %v", err)
	}
	return url
}

// Empty is New without the schema.
func Empty(t testing.TB) string {
	t.Helper()
	return clone(t, pgtestdb.NoopMigrator{})
}

// On makes a database with Rowrun's schema on a test's own server, which takes it
// along when it is stopped.
func On(t testing.TB, cluster *embeddedpg.Cluster) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	name := "test_" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if err := exec(ctx, cluster.SocketURL("postgres"), "CREATE DATABASE "+name); err != nil {
		t.Fatalf("storetest: create database: %v", err)
	}
	if _, err := migrations.Up(ctx, migrations.Config{URL: cluster.SocketURL(name)}); err != nil {
		t.Fatalf("storetest: %v", err)
	}
	return cluster.SocketURL(name)
}

func clone(t testing.TB, migrator pgtestdb.Migrator) string {
	t.Helper()
	cluster := Cluster(t)
	made := pgtestdb.Custom(t, pgtestdb.Config{
		DriverName: "pgx",
		Host:       "127.0.0.1",
		Port:       strconv.Itoa(cluster.Port()),
		User:       "postgres",
		Database:   "postgres",
		Options:    "sslmode=disable",
		// It exists, and is superuser with REPLICATION.
		TestRole: &pgtestdb.Role{Username: "postgres", Capabilities: "SUPERUSER REPLICATION"},
		// What a test broke on purpose, say a connection that answers no more, may be open still.
		ForceTerminateConnections: true,
	}, migrator)
	url := cluster.SocketURL(made.Database)
	t.Cleanup(func() { DropSlots(t, url) }) // before pgtestdb's: a database with slots can't be dropped
	return url
}

// SlotPatience is for tests that make a slot beside other tests of the same server: a slot waits for every transaction that is open
// there, and on a slow machine, and at full counts, these take minutes.
func SlotPatience() time.Duration {
	return time.Duration(Count(120, 600)) * time.Second
}

// AddStreamSlot makes the replication slot of the database's deployment, as a replica's stream does. Its name is asked for first: a
// statement that reads a table while it makes a slot can be ended by the server with "buffer is not owned by resource owner".
func AddStreamSlot(t testing.TB, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), SlotPatience())
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatalf("storetest: add a slot: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	var name string
	if err = conn.QueryRow(ctx, `SELECT 'rowrun_stream_' || left(id::text, 8) FROM rowrun.deployment`).Scan(&name); err != nil {
		t.Fatalf("storetest: add a slot: %v", err)
	}
	if _, err = conn.Exec(ctx, `SELECT pg_create_logical_replication_slot($1, 'pgoutput')`, name); err != nil {
		t.Fatalf("storetest: add a slot: %v", err)
	}
}

// DropSlots drops the database's replication slots, those in use too.
func DropSlots(t testing.TB, url string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	const drop = `DO $$
DECLARE slot record;
BEGIN
    FOR slot IN SELECT slot_name FROM pg_replication_slots WHERE database = current_database() LOOP
        LOOP
            PERFORM pg_terminate_backend(active_pid, 1000)
            FROM pg_replication_slots WHERE slot_name = slot.slot_name AND active;
            BEGIN
                PERFORM pg_drop_replication_slot(slot.slot_name);
                EXIT;
            EXCEPTION WHEN object_in_use THEN
                PERFORM pg_sleep(0.01);
            WHEN undefined_object THEN -- a temporary one went with its session
                EXIT;
            END;
        END LOOP;
    END LOOP;
END $$`
	if err := exec(ctx, url, drop); err != nil {
		t.Errorf("storetest: drop slots: %v", err)
	}
}

func exec(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

// migrated makes the template. Its hash follows the text of the migrations.
type migrated struct{}

func (migrated) Hash() (string, error) {
	text, err := migrations.SQL(0)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]), nil
}

func (migrated) Migrate(ctx context.Context, _ *sql.DB, config pgtestdb.Config) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := migrations.Up(ctx, migrations.Config{URL: strings.ReplaceAll(config.URL(), ":@", "@")})
	return err
}
