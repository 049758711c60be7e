package scheduler

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestWhatAReplicaDoesAboutAnOutage(t *testing.T) {
	t.Parallel()
	const lease = time.Minute
	for _, c := range []struct {
		name string
		seen store.Outage
		want answer
	}{
		{"no replica ever was", store.Outage{Silent: -time.Second}, goOn},
		{"no replica ever was, and runs wait", store.Outage{Silent: -time.Second, Backlog: 9}, goOn},
		{"a restart", store.Outage{Silent: 5 * time.Second}, goOn},
		{"a restart, and runs wait", store.Outage{Silent: lease, Backlog: 9}, goOn},
		{"an outage", store.Outage{Silent: lease + time.Millisecond, Backlog: 1}, beginRecovery},
		{"an outage, and nothing waits", store.Outage{Silent: time.Hour}, tellOutage},
		{"another replica lives", store.Outage{Live: true, Silent: time.Second, Backlog: 9}, goOn},
		{"another lives by a longer lease", store.Outage{Live: true, Silent: 2 * lease, Backlog: 9}, goOn},
		{"another has begun", store.Outage{Live: true, Recovery: 7, Silent: time.Second}, joinRecovery},
		{"all have died in a recovery", store.Outage{Recovery: 7, Silent: time.Hour, Backlog: 9}, joinRecovery},
		{"one restarts in a recovery", store.Outage{Recovery: 7, Silent: time.Second}, joinRecovery},
	} {
		require.Equal(t, c.want, answerTo(c.seen, lease), c.name)
	}
}

func TestClaimsAreHeldBackUntilWhatIsDueIsPromoted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := &recovering{patience: now.Add(time.Minute)}
	require.Equal(t, time.Minute, r.holds(now))
	require.Equal(t, time.Second, r.holds(now.Add(59*time.Second)))
	require.Zero(t, r.holds(now.Add(time.Hour)), "not for ever")
	r.settle()
	require.Zero(t, r.holds(now))
	(*recovering)(nil).settle()
}

// A claim may be answered when its replica has just told the row all that it had started, and learned that the recovery has ended.
func TestTheLastStartsOfARecoveryAreTold(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	s, err := store.Open(t.Context(), store.Config{URL: url, Lease: time.Minute, MaxConns: 5})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	id, err := s.BeginRecovery(t.Context(), store.Outage{Silent: time.Hour, Backlog: 100})
	require.NoError(t, err)
	told := func() (started int) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT started FROM rowrun.recovery").Scan(&started))
		return started
	}
	replica := &incarnation{s: &Scheduler{cfg: Config{Store: s, Concurrency: 1}}, trips: t.Context()}
	r := &recovering{id: id, slots: 1}
	replica.begun(r, 5)
	require.Zero(t, told(), "the next count tells them")
	_, err = conn.Exec(t.Context(), "UPDATE rowrun.recovery SET ended_at = clock_timestamp()")
	require.NoError(t, err)
	replica.recovered(t.Context(), r, nil)
	require.Equal(t, 5, told(), "before it learned of the end")
	replica.begun(r, 4)
	require.Equal(t, 9, told(), "behind it")
	replica.begun(nil, 1)
}

// Starts that were granted and not made are for others. Nobody knows how many were made where an answer is lost: all of them count.
func TestStartsThatWereNotMadeAreGivenBack(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{URL: storetest.New(t), Lease: time.Minute, MaxConns: 5})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	id, err := s.BeginRecovery(t.Context(), store.Outage{Silent: time.Hour, Backlog: 100})
	require.NoError(t, err)
	const rate = 0.01 // none comes while this test lasts
	scheduler := &Scheduler{cfg: Config{Store: s}}
	scheduler.recovering.Store(&recovering{id: id, rate: rate})
	replica := &incarnation{s: scheduler, trips: t.Context()}
	left := func() int {
		t.Helper()
		granted, _, err := s.TakeRecoveryStarts(t.Context(), id, 100, rate, 20)
		require.NoError(t, err)
		require.NoError(t, s.GiveRecoveryStarts(t.Context(), id, granted, rate))
		return granted
	}
	require.Zero(t, left())
	require.NoError(t, s.GiveRecoveryStarts(t.Context(), id, 10, rate))
	require.Equal(t, 10, left())
	granted, _, err := s.TakeRecoveryStarts(t.Context(), id, 8, rate, 20)
	require.NoError(t, err)
	require.Equal(t, 8, granted)
	trip := &store.Trip{Want: granted}
	replica.giveBack(trip, store.Pass{Claims: make([]store.Claim, 8)}, nil)
	require.Equal(t, 2, left(), "all were made")
	replica.giveBack(trip, store.Pass{Claims: make([]store.Claim, 2)}, errors.New("the answer is lost"))
	require.Equal(t, 2, left())
	replica.giveBack(trip, store.Pass{Claims: make([]store.Claim, 2)}, nil)
	require.Equal(t, 8, left())
}

func TestRoomOfTypes(t *testing.T) {
	t.Parallel()
	long := 2 * time.Hour
	r := &rooms{limits: map[string]TypeLimit{"REPORT": {Concurrency: 2, Timeout: &long}, "IMPORT": {Timeout: new(time.Duration)}}, common: time.Hour, busy: map[string]int{}}
	types := []string{"IMPORT", "MAIL", "REPORT"}
	require.Equal(t, map[string]store.Room{"REPORT": {Most: 2, Timeout: long}, "IMPORT": {Most: 20}}, r.of(types, 20))
	require.Equal(t, map[string]int{"REPORT": 2}, r.announced())
	r.started("REPORT")
	r.started("IMPORT")
	require.Equal(t, map[string]store.Room{"REPORT": {Most: 1, Timeout: long}, "IMPORT": {Most: 1}}, r.of(types, 1))
	require.False(t, r.full())
	require.False(t, r.ended("IMPORT"))
	require.True(t, r.ended("REPORT"), "a search may be under way that was told of one place")
	r.started("REPORT")
	r.started("REPORT")
	require.True(t, r.full())
	require.Equal(t, store.Room{Timeout: long}, r.of(types, 5)["REPORT"])
	require.True(t, r.ended("REPORT"))
	require.Equal(t, store.Room{Most: 1, Timeout: long}, r.of(types, 5)["REPORT"])

	r = &rooms{limits: map[string]TypeLimit{"REPORT": {Concurrency: 7}}, most: 3, common: time.Hour, busy: map[string]int{}}
	require.Equal(t, map[string]store.Room{"REPORT": {Most: 7, Timeout: time.Hour}, "MAIL": {Most: 3, Timeout: time.Hour}}, r.of([]string{"MAIL", "REPORT"}, 9))
	require.Equal(t, map[string]int{"REPORT": 7, "*": 3}, r.announced())

	none := &rooms{}
	require.Nil(t, none.of(types, 20))
	require.False(t, none.some())
	none.started("MAIL")
	require.False(t, none.ended("MAIL"))
	require.Empty(t, none.announced())
}

func TestLimitsThatCanNotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	below := -time.Second
	for says, change := range map[string]func(*Config){
		"max per type: -1 is not accepted":                                 func(c *Config) { c.MaxPerType = -1 },
		"type limits: a name is empty":                                     func(c *Config) { c.TypeLimits = map[string]TypeLimit{"": {}} },
		"type limits: A: a concurrency of -1 is not accepted":              func(c *Config) { c.TypeLimits = map[string]TypeLimit{"A": {Concurrency: -1}} },
		"type limits: A: a timeout of -1s is not accepted":                 func(c *Config) { c.TypeLimits = map[string]TypeLimit{"A": {Timeout: &below}} },
		`recovery: "on" is not accepted; accepted: auto, off`:              func(c *Config) { c.Recovery = "on" },
		"recovery concurrency: -1 is not accepted":                         func(c *Config) { c.RecoveryConcurrency = -1 },
		"recovery rate: -1 is not accepted; accepted: runs per second, or": func(c *Config) { c.RecoveryRate = -1 },
	} {
		c := Config{Executors: map[string]Executor{"NOOP": Noop{}}}
		require.NoError(t, c.Check())
		change(&c)
		require.ErrorContains(t, c.Check(), says)
	}
}
