package storetest

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// WriteProgram writes a file that anybody may execute.
func WriteProgram(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, Unforked(func() error { return os.WriteFile(path, []byte(content), 0o755) })) //nolint:gosec // it is executed, by users of other names too
}

// Unforked has nobody fork while programs are written: a process that another test forks inherits the open file until it has executed its
// own program, and a program that somebody may still write to can't be executed ("text file busy").
func Unforked(write func() error) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return write()
}
