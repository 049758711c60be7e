package events

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTimelinesEndWhereAStandbyWasPromoted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		history string
		ends    map[int]LSN
	}{
		"one promotion":           {"1\t0/5000110\tno recovery target specified\n", map[int]LSN{1: 0x5000110}},
		"two, and an empty line":  {"1\t0/5000110\tno recovery target specified\n\n2\tA/10\tno recovery target specified\n", map[int]LSN{1: 0x5000110, 2: 0xA00000010}},
		"a point in time between": {"1\t0/10\tno recovery target specified\n2\t0/20\tbefore 2026-01-01 00:00:00+00\n3\t0/30\tno recovery target specified\n", map[int]LSN{3: 0x30}},
		"a comment":               {"# by hand\n1\t0/10\tno recovery target specified\n", map[int]LSN{1: 0x10}},
		"no place":                {"1\tnowhere\tno recovery target specified\n", map[int]LSN{}},
		"nothing":                 {"", map[int]LSN{}},
	} {
		require.Equal(t, c.ends, parseForks(c.history), name)
	}
}
