package embeddedpg

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNotRunning says that no process holds the cluster.
var ErrNotRunning = errors.New("the cluster is not running")

// Address is where a cluster is reached on this machine.
type Address struct {
	SocketDir string
	Port      int
}

// Running says where the cluster of a directory is reached that another process has started. Errors: ErrNotRunning, also while it
// is being started.
func Running(dir string) (Address, error) {
	root, err := rootOf(dir, processUser())
	if err != nil {
		return Address{}, err
	}
	p := &place{root: root}
	held, err := lock(filepath.Join(root, "lock"))
	if err == nil {
		return Address{}, errors.Join(fmt.Errorf("%s: %w", dir, ErrNotRunning), unlock(held))
	}
	if errors.Is(err, os.ErrNotExist) {
		return Address{}, fmt.Errorf("%s: %w", dir, ErrNotRunning)
	}
	if !errors.Is(err, ErrInUse) {
		return Address{}, err
	}
	text, err := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
	if err != nil {
		return Address{}, fmt.Errorf("%s: %w", dir, errors.Join(ErrNotRunning, err))
	}
	// Its lines: pid, data directory, start time, port, socket directory, …, status.
	lines := strings.Split(string(text), "\n")
	if len(lines) < 8 || !strings.HasPrefix(lines[7], "ready") {
		return Address{}, fmt.Errorf("%s: %w yet", dir, ErrNotRunning)
	}
	port, err := strconv.Atoi(lines[3])
	if err != nil {
		return Address{}, err
	}
	return Address{SocketDir: lines[4], Port: port}, nil
}
