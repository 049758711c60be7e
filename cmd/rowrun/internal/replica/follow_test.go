package replica

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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

// Whoever comes at the moment in which the follower is told to stop waits for the next one: what the first still reads is not
// all that comes.
func TestNobodyIsLetInWhileTheFollowerStops(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]bool{"while lines flow": true, "before the first line": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				kept, err := history.New(history.Config{})
				require.NoError(t, err)
				f := newFollower(nil, nil, nil, func() bool { return false }, kept, zerolog.Nop())
				if begun {
					f.begin()
				}
				require.True(t, f.ends(), "nobody reads")
				entered := false
				ended := make(chan error, 1)
				go func() {
					_, err := f.Follow(t.Context())
					entered = true
					ended <- err
				}()
				synctest.Wait()
				require.False(t, entered)
				f.begin() // of the one that stops: its first line comes late
				f.end()
				synctest.Wait()
				require.False(t, entered)
				require.True(t, f.starts(), "somebody waits")
				f.begin()
				require.NoError(t, <-ended)
				require.False(t, f.ends(), "somebody reads")
			})
		})
	}
}

// Who reads on from one follower to the next is told: in between nobody followed.
func TestEachNextFollowerBeginsWithAGap(t *testing.T) {
	t.Parallel()
	kept, err := history.New(history.Config{})
	require.NoError(t, err)
	f := newFollower(nil, nil, nil, func() bool { return false }, kept, zerolog.Nop())
	f.begin()
	f.followed("", []byte("a line"))
	reader, _ := kept.Follow("")
	t.Cleanup(reader.Close)
	f.end() // the connection was lost
	f.begin()
	require.EqualValues(t, 1, kept.Stats().Gaps)
}
