package stream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheWriterLooksForNotesWhereItIsToldOrNobodyTells(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		noted := make(chan bool)
		e := &Election{config: ElectionConfig{Noted: noted}}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		began := time.Now()
		require.True(t, e.awaitNotes(ctx))
		require.Equal(t, notesEvery, time.Since(began), "nobody tells")

		began = time.Now()
		go func() {
			for range 10 {
				_ = pause(ctx, notesEvery*3/4)
				noted <- false
			}
			noted <- true
		}()
		require.True(t, e.awaitNotes(ctx))
		require.Equal(t, 10*notesEvery*3/4, time.Since(began), "it is told that there is nothing, and then at once")

		stop()
		require.False(t, e.awaitNotes(ctx))
	})
}
