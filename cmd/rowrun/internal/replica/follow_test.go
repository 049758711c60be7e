package replica

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/history"
)

// Whoever reads while the writer takes over hears of it at once, also where neither has printed a line.
func TestReadersHearWhenTheWriterTakesOver(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]int{"behind a line": 1, "behind none": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, err := history.New(history.Config{})
			require.NoError(t, err)
			reader, _ := kept.Follow("")
			t.Cleanup(reader.Close)
			writes := false
			f := newFollower(nil, nil, nil, func() bool { return writes }, kept, zerolog.Nop())
			f.begin()
			for range lines {
				f.append(asFollower, "", []byte("followed\n"))
			}
			writes = true
			f.end()
			f.written("", []byte("written\n"))

			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var seen []string
			for !slices.Contains(seen, "written") {
				read, err := reader.Next(ctx, 1)
				require.NoError(t, err)
				for _, line := range read {
					text := strings.TrimSpace(string(line.Text))
					if strings.Contains(text, gapOtherSource) {
						text = "gap"
					}
					seen = append(seen, text)
				}
			}
			require.Equal(t, append(slices.Repeat([]string{"followed"}, lines), "gap", "written"), seen)
		})
	}
}

// Gap lines that the writer put into the stream are counted; those that only readers of /events get are none of the
// stream's, which lacks nothing there.
func TestOnlyGapsOfTheStreamAreCounted(t *testing.T) {
	t.Parallel()
	kept, err := history.New(history.Config{})
	require.NoError(t, err)
	writes := false
	f := newFollower(nil, nil, nil, func() bool { return writes }, kept, zerolog.Nop())
	f.begin()
	f.append(asFollower, "", history.GapLine("connection lost"))
	f.append(asFollower, "", []byte(`{"level":"info"}`))
	writes = true
	f.end() // the readers are told that another source follows
	f.written("", []byte(`{"level":"info"}`))
	require.EqualValues(t, 2, kept.Stats().Gaps)
	count, last := f.gaps()
	require.Zero(t, count)
	require.True(t, last.IsZero())
	f.written("", history.GapLine("the replica that wrote the stream is gone"))
	count, last = f.gaps()
	require.EqualValues(t, 1, count)
	require.WithinDuration(t, time.Now(), last, time.Minute)
}
