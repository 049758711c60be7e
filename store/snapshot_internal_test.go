package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSnapshot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]InFlight{
		"795:795::792":                       {Oldest: 795, Next: 795},
		"795:795::794":                       {Oldest: 795, Next: 797}, // 795 and 796 may be under way
		"795:797:795:790":                    {Oldest: 795, Next: 797}, // 793 is the session's own
		"793:797:795,796:794":                {Oldest: 795, Next: 797},
		"795:797:795:795":                    {Oldest: 795, Next: 798},
		"4294967301:4294967302:4294967301:3": {Oldest: 4294967301, Next: 4294967302},
		"4294967295:4294967295::5":           {Oldest: 4294967295, Next: 4294967304},
		"3000000000:3000000000::-1294967298": {Oldest: 3000000000, Next: 3000000001},
	} {
		got, err := parseSnapshot(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "795", "795:796", "795:796:795", "795:x::1", "795:796:x:1", "795:796:795:x", "795:796:795:1:1"} {
		_, err := parseSnapshot(text)
		require.ErrorContains(t, err, "is no snapshot", text)
	}
}
