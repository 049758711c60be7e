// Package storetest gives tests a real PostgreSQL: one ephemeral server per test
// binary, started when the first test asks, and a database of its own per test.
//
// A package's tests begin with
//
//	func TestMain(m *testing.M) { storetest.Main(m) }
//
// which also fails the run if a goroutine is left over, and then stops the server.
package storetest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowrun/rowrun/store/embeddedpg"
)

// patience bounds each step that a test can't do without.
const patience = 2 * time.Minute

// shared is the server of this test binary. It must outlive every test and be
// stopped by Main, which have no other way to hand it to each other.
var shared struct { //nolint:gochecknoglobals // see above
	sync.Mutex
	cluster *embeddedpg.Cluster
	err     error
}

// Main runs the tests, stops the server and exits with their code, or 1 where a
// goroutine was left over.
func Main(m *testing.M) {
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "storetest:", err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "storetest:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func stop() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return shared.cluster.Stop(ctx)
}

// Cluster is the server that New uses. A test that stops or breaks a server needs
// OwnCluster.
func Cluster(t testing.TB) *embeddedpg.Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = start()
	}
	if shared.err != nil {
		t.Fatalf("storetest: %v", shared.err)
	}
	return shared.cluster
}

// OwnCluster is a server for one test, stopped and removed after it.
// env are more variables of its environment.
func OwnCluster(t testing.TB, env ...string) *embeddedpg.Cluster {
	t.Helper()
	cluster, err := start(env...)
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := cluster.Stop(ctx); err != nil {
			t.Errorf("storetest: %v", err)
		}
	})
	return cluster
}

func start(env ...string) (*embeddedpg.Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return embeddedpg.Start(ctx, embeddedpg.Config{
		Ephemeral: true,
		Dir:       directory(),
		Settings:  settings(),
		Env:       env,
	})
}

func settings() map[string]string {
	return map[string]string{
		"wal_level":             "logical",
		"max_connections":       "300",
		"max_replication_slots": "64",
		"max_wal_senders":       "64",
	}
}
