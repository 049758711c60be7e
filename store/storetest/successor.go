package storetest

import (
	"context"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"

	"github.com/rowrun/rowrun/store/embeddedpg"
)

// Successor copies a server while it stands still, and starts the copy as a standby once the origin goes on: after
// pg_promote() two servers of one identity take writes. Nobody else may be connected to the origin.
func Successor(t testing.TB, origin *embeddedpg.Cluster) *embeddedpg.Cluster {
	t.Helper()
	copied, err := succeed(t, origin)
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := copied.Stop(ctx); err != nil {
			t.Errorf("storetest: %v", err)
		}
	})
	return copied
}

func succeed(t testing.TB, origin *embeddedpg.Cluster) (*embeddedpg.Cluster, error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := origin.Halt(ctx); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(origin.Dir()), "rowrun-successor-") //nolint:usetesting // where the server's user can go
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := osexec.CommandContext(ctx, "cp", "-a", origin.Dir()+"/.", dir).Run(); err != nil {
		return nil, err
	}
	if err := origin.Restart(ctx); err != nil { // first, as its port is free for others until then
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "standby.signal"), nil, 0o644); err != nil { //nolint:gosec // empty
		return nil, err
	}
	bin, err := embeddedpg.Find(ctx)
	if err != nil {
		return nil, err
	}
	return embeddedpg.Start(ctx, embeddedpg.Config{Dir: dir, BinDir: bin, Settings: settings()})
}

// Both is an address that names two servers, in this order.
func Both(t testing.TB, first, second string) string {
	t.Helper()
	u, err := url.Parse(first)
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	other, err := url.Parse(second)
	if err != nil {
		t.Fatalf("storetest: %v", err)
	}
	u.Host += "," + other.Host
	query := u.Query()
	query.Set("target_session_attrs", "read-write")
	u.RawQuery = query.Encode()
	return u.String()
}
