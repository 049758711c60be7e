package scheduler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALoopWaitsAsLongAsItIsToldThatThereIsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := make(told, 1)
		teller, stop := context.WithCancel(t.Context())
		defer stop()
		waited := make(chan time.Duration, 1)
		begun := time.Now()
		look := func(ctx context.Context) {
			go func() {
				c.wait(ctx, 7*time.Second)
				waited <- time.Since(begun)
			}()
		}

		look(teller)
		for range 20 {
			sleep(teller, 5*time.Second)
			c.tell(false)
			synctest.Wait()
			require.Empty(t, waited)
		}
		sleep(teller, time.Second)
		c.tell(true)
		require.Equal(t, 101*time.Second, <-waited, "it is told at once")

		look(teller)
		require.Equal(t, 108*time.Second, <-waited, "nobody tells it anything")

		c.tell(true)
		c.tell(false)
		look(teller)
		require.Equal(t, 115*time.Second, <-waited, "the newest word counts")

		look(teller)
		synctest.Wait()
		stop()
		require.Equal(t, 115*time.Second, <-waited)
	})
}
