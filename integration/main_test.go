package integration_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// patience bounds what has no time of its own to be held to.
const patience = 60 * time.Second

// program is what is under test. TestMain has no other way to hand it to the tests.
var program struct { //nolint:gochecknoglobals // see above
	path string
	hold io.Closer // its end removes the directory: the garbage collector must not bring that about
}

func TestMain(m *testing.M) {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		os.Exit(1)
	}
	storetest.Main(m)
}

// build makes the binary, once, in a directory that goes when this process has ended, however it ends: a shell that
// waits for the end of a pipe removes it.
func build() error {
	dir, err := os.MkdirTemp("", "rowrun-integration-")
	if err != nil {
		return err
	}
	remover := exec.Command("sh", "-c", `cat >/dev/null; rm -rf "$1"`, "sh", dir) //nolint:noctx // it outlives the tests
	if program.hold, err = remover.StdinPipe(); err != nil {
		return err
	}
	if err := remover.Start(); err != nil {
		return err
	}
	program.path = filepath.Join(dir, "rowrun")
	compile := exec.Command("go", "build", "-buildvcs=false", "-o", program.path, "github.com/rowrun/rowrun/cmd/rowrun") //nolint:noctx // go test has a timeout
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return nil
}

// eventually polls until ok, and fails the test after within.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			require.FailNow(t, "not in time", "%s, within %s", what, within)
		}
		<-tick.C
	}
}

// chance is the test's source of random choices; it prints its seed.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(uint64(storetest.Seed(t)), 0)) //nolint:gosec // not a secret
}
