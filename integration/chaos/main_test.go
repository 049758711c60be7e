package chaos_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rowrun/rowrun/store/storetest"
)

// program is the binary under test; TestMain has no other way to hand it to the tests.
var program string //nolint:gochecknoglobals // see above

func TestMain(m *testing.M) {
	dir, err := build()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
	// It goes with this process: the kernel keeps an open file, and replicas are started from what /proc says of it.
	file, err := os.Open(filepath.Join(dir, "rowrun"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
	program = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
	_ = os.RemoveAll(dir)
	storetest.Main(m)
	_ = file.Close()
}

func build() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "rowrun-chaos-"); err != nil {
		return "", err
	}
	compile := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(dir, "rowrun"), "github.com/rowrun/rowrun/cmd/rowrun") //nolint:noctx // go test has a timeout
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return dir, nil
}
