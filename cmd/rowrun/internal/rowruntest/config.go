package rowruntest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// SomeURL is the address of no database.
const SomeURL = "postgres://someone:hunter2@db.example:5432/app"

// ConfigFile writes the file of --config and returns its path.
func ConfigFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rowrun.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
