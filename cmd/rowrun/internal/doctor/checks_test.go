package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The list leads to every statement that is there for doctor, and to none that isn't there.
func TestChecksNameTheirStatements(t *testing.T) {
	t.Parallel()
	const folder = "../../../../store/sql"
	var d doctor
	first, ofSchema := d.checks()
	named := map[string]bool{}
	for _, c := range append(first, ofSchema...) {
		for _, statement := range c.statements {
			named[statement] = true
			_, err := os.Stat(filepath.Join(folder, statement+".sql"))
			require.NoError(t, err, c.name)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "doctor_*.sql"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		statement := strings.TrimSuffix(filepath.Base(file), ".sql")
		require.True(t, named[statement], "no check sends %s", statement)
	}
}
