package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

// What changes is told alone, and what isn't told stays right: a group keeps its number when others go, and a task that moves to
// another database has all be told.
func TestWhatIsNotToldAgainKeepsItsPlaces(t *testing.T) {
	t.Parallel()
	g := &grid{boot: "b"}
	failed := func(id int64, text string) store.GridTask {
		return store.GridTask{ID: id, Status: "FAILED", Error: text, Code: "X", DatabaseID: "orders", Version: "1"}
	}
	g.take([]store.GridTask{failed(1, "one"), failed(2, "two")})
	all := g.answer("", false)
	require.True(t, all.Full)
	require.Equal(t, []int{0, 1}, all.Tasks.ErrorGroup)

	retried := store.GridTask{ID: 1, Status: "RUNNING", DatabaseID: "orders", Version: "1"}
	g.take([]store.GridTask{retried, failed(2, "two")})
	next := g.answer(all.Token, false)
	require.False(t, next.Full)
	require.Equal(t, []string{"1"}, next.Tasks.ID)
	require.Equal(t, 0, next.Errors[0].Count)
	require.Equal(t, errorGroup{Text: "two", Code: some("X"), Count: 1}, next.Errors[1], "it wasn't told again, and is where it was")

	g.take([]store.GridTask{failed(1, "three"), failed(2, "two")})
	last := g.answer(next.Token, false)
	require.Equal(t, []int{2}, last.Tasks.ErrorGroup)

	moved := failed(2, "two")
	moved.DatabaseID = "a first one"
	g.take([]store.GridTask{failed(1, "three"), moved})
	require.True(t, g.answer(last.Token, false).Full)
}
