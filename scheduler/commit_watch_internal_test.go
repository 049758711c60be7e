package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
)

func TestLateLooksUntilAllHaveEndedThatWereOpen(t *testing.T) {
	t.Parallel()
	began := time.Now()
	ms := func(n int) time.Time { return began.Add(time.Duration(n) * time.Millisecond) }
	sweep := ms(60_000)
	var l commitWatch
	l.looked(store.InFlight{Oldest: 5, Next: 9}, true, ms(0))
	require.Equal(t, sweep, l.before(sweep), "nothing woke it")

	l.woken(false)
	l.looked(store.InFlight{Oldest: 9, Next: 9}, true, ms(0))
	require.Equal(t, ms(6), l.before(sweep))
	l.looked(store.InFlight{Oldest: 9, Next: 11}, true, ms(6))
	require.Equal(t, sweep, l.before(sweep), "nothing was open")

	l.woken(false)
	l.looked(store.InFlight{Oldest: 5, Next: 9}, true, ms(0))
	require.Equal(t, ms(6), l.before(sweep))
	require.Equal(t, ms(3), l.before(ms(3)), "another look comes before")
	l.looked(store.InFlight{}, true, ms(2))
	l.looked(store.InFlight{Oldest: 5, Next: 12}, true, ms(3))
	require.Equal(t, ms(6), l.before(sweep), "a look in between puts nothing off")
	l.looked(store.InFlight{Oldest: 5, Next: 13}, true, ms(6))
	require.Equal(t, ms(18), l.before(sweep))
	l.looked(store.InFlight{Oldest: 8, Next: 14}, true, ms(18))
	require.Equal(t, ms(42), l.before(sweep))
	l.looked(store.InFlight{Oldest: 9, Next: 15}, false, ms(30))
	require.Equal(t, ms(42), l.before(sweep), "that pass was for something else")
	l.looked(store.InFlight{Oldest: 12, Next: 15}, true, ms(42))
	require.Equal(t, sweep, l.before(sweep), "what is open now came later")

	l.woken(false)
	l.looked(store.InFlight{Oldest: 5, Next: 9}, true, ms(42))
	l.looked(store.InFlight{Oldest: 5, Next: 9}, true, ms(48))
	l.looked(store.InFlight{Oldest: 9, Next: 12}, true, ms(60))
	require.Equal(t, ms(66), l.before(sweep), "the search came before the snapshot that shows the end")
	l.looked(store.InFlight{Oldest: 9, Next: 12}, true, ms(66))
	require.Equal(t, sweep, l.before(sweep))

	l.woken(false)
	l.looked(store.InFlight{Oldest: 5, Next: 9}, true, ms(50))
	l.looked(store.InFlight{Oldest: 5, Next: 9}, true, ms(56))
	l.woken(false)
	l.looked(store.InFlight{Oldest: 5, Next: 20}, true, ms(60))
	require.Equal(t, ms(66), l.before(sweep), "another wake-up begins anew")
	l.looked(store.InFlight{Oldest: 19, Next: 20}, true, ms(66))
	require.Equal(t, ms(78), l.before(sweep), "with what is open by then")

	l.woken(true)
	l.looked(store.InFlight{Oldest: 5, Next: 9}, true, ms(80))
	require.Equal(t, ms(86), l.before(sweep), "of many replicas too each waits for what is open")
	l.looked(store.InFlight{Oldest: 9, Next: 20}, true, ms(86))
	require.Equal(t, ms(92), l.before(sweep))
	l.looked(store.InFlight{Oldest: 9, Next: 20}, true, ms(92))
	require.Equal(t, sweep, l.before(sweep))
	l.woken(true)
	l.looked(store.InFlight{Oldest: 9, Next: 9}, true, ms(90))
	require.Equal(t, sweep, l.before(sweep), "and looks once where nothing is")
}
