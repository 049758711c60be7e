package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSnapshot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]InFlight{
		"795:795:":                         {Oldest: 795, Next: 795},
		"793:797:795,796":                  {Oldest: 795, Next: 797}, // 793 is the session's own
		"795:797:795":                      {Oldest: 795, Next: 797},
		"4294967301:4294967302:4294967301": {Oldest: 4294967301, Next: 4294967302},
	} {
		got, err := parseSnapshot(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "795", "795:796", "795:x:", "795:796:x", "795:796:795:1"} {
		_, err := parseSnapshot(text)
		require.ErrorContains(t, err, "is no snapshot", text)
	}
}
