package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

func TestLateLooksUntilAllHaveEndedThatWereOpen(t *testing.T) {
	t.Parallel()
	w := watched{t: t, began: time.Now()}

	w.looks(0, 5, 9, searchedBehind)
	w.requireNone("nothing woke it")

	w.l.woken(false, w.at(0))
	w.looks(0, 9, 9, searchedBehind)
	w.requireNext(6, "a second look follows in any case")
	w.looks(6, 11, 11, searchedBehind)
	w.requireNone("nothing is open")

	w.l.woken(false, w.at(0))
	w.looks(0, 9, 9, searchedBehind)
	w.looks(6, 9, 11, searchedBehind)
	w.requireNext(18, "who is open at the late look may be silent, though the first look saw nobody")
	w.looks(18, 11, 14, searchedBehind)
	w.requireNone("what is open now came later")

	w.l.woken(false, w.at(0))
	w.looks(0, 5, 9, searchedBehind)
	require.Equal(t, w.at(3), w.l.before(w.at(3)), "another look comes before")
	w.l.looked(store.InFlight{}, searchedBehind, w.at(2), w.at(2))
	w.looks(3, 9, 9, searchedBehind)
	w.requireNext(6, "a look in between neither puts off nor ends anything")
	w.looks(6, 5, 13, searchedBehind)
	w.requireNext(18, "")
	w.looks(18, 8, 14, searchedBehind)
	w.requireNext(42, "")
	w.looks(30, 14, 15, searchedNot)
	w.requireNext(42, "that pass was for something else")
	w.looks(42, 13, 15, searchedBefore)
	w.requireNext(90, "the search came before the snapshot that shows the end")
	w.looks(90, 14, 15, searchedBehind)
	w.requireNone("all have ended")

	w.l.woken(false, w.at(0))
	w.looks(0, 5, 9, searchedBehind)
	w.l.looked(store.InFlight{Oldest: 9, Next: 9}, searchedBehind, w.at(4), w.at(7))
	w.requireNext(6, "a look that began early is no late one")

	w.l.woken(false, w.at(50))
	w.looks(50, 5, 9, searchedBehind)
	w.looks(56, 5, 9, searchedBehind)
	w.l.woken(false, w.at(60))
	w.looks(60, 5, 20, searchedBehind)
	w.requireNext(66, "another wake-up begins anew")
	w.looks(66, 19, 20, searchedBehind)
	w.requireNext(78, "with what is open by then")

	w.l.woken(true, w.at(80))
	w.looks(80, 5, 9, searchedBefore)
	w.requireNext(86, "of many replicas too each waits for what is open")
	w.looks(86, 9, 9, searchedBehind)
	w.requireNone("")
	w.l.woken(true, w.at(90))
	w.looks(90, 9, 9, searchedBefore)
	w.requireNone("and looks once where nothing is")
	w.l.woken(true, w.at(90))
	w.looks(90, 9, 9, searchedNot)
	w.requireNext(96, "unless it came for something else")
}

// watched is a watch with looks that take no time, at ms behind a beginning.
type watched struct {
	t     *testing.T
	began time.Time
	l     commitWatch
}

func (w *watched) at(ms int) time.Time { return w.began.Add(time.Duration(ms) * time.Millisecond) }

func (w *watched) looks(ms int, oldest, next uint64, searched search) {
	w.l.looked(store.InFlight{Oldest: oldest, Next: next}, searched, w.at(ms), w.at(ms))
}

func (w *watched) requireNext(ms int, why string) {
	w.t.Helper()
	require.Equal(w.t, w.at(ms), w.l.before(w.at(60_000)), why)
}

func (w *watched) requireNone(why string) {
	w.t.Helper()
	w.requireNext(60_000, why)
}
