package statuses_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
)

func TestEachStatusHasALookOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, look := range statuses.All() {
		for _, value := range []string{look.Status, look.Name, look.Icon, look.SGR, look.Color} {
			require.NotEmpty(t, value, look.Status)
			require.Empty(t, seen[value], "%s and %s share %q", seen[value], look.Status, value)
			seen[value] = look.Status
		}
		require.Equal(t, 1, displaywidth.String(look.Icon), look.Status)
		require.Equal(t, 1, displaywidth.Options{EastAsianWidth: true}.String(look.Icon), "%s: where doubtful characters are wide", look.Status)
		found, ok := statuses.Of(look.Status)
		require.True(t, ok)
		require.Equal(t, look, found)
	}
	_, ok := statuses.Of("READY")
	require.False(t, ok)
	require.Equal(t, []string{"PENDING", "AVAILABLE", "RUNNING", "DONE", "FAILED", "CANCELED"}, statuses.OfRuns())
}

// 3:1 is what WCAG asks of icons and large text.
func TestColoursCanBeReadOnWhiteAndOnBlack(t *testing.T) {
	t.Parallel()
	for _, look := range statuses.All() {
		l := luminance(t, look.Color)
		require.GreaterOrEqual(t, 1.05/(l+0.05), 3.0, "%s on white", look.Status)
		require.GreaterOrEqual(t, (l+0.05)/0.05, 3.0, "%s on black", look.Status)
	}
}

func luminance(t *testing.T, color string) float64 {
	t.Helper()
	var r, g, b int
	_, err := fmt.Sscanf(color, "#%02x%02x%02x", &r, &g, &b)
	require.NoError(t, err)
	linear := func(v int) float64 {
		c := float64(v) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}
