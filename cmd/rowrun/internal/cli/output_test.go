package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutputKeepsValuesOutOfTheTerminalsControl(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a b c", Printable("a\nb\tc"))
	require.NotContains(t, Printable("\x1b[2Jgone"), "\x1b")
	require.Equal(t, "größer", Printable("größer"))
}
