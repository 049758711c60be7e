package scheduler_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// worldLimits are the limits of a world, by what their keys begin with: how many at once, and how many in a second.
type worldLimits struct {
	atOnce map[string]int
	rates  map[string]worldRate
}

type worldRate struct{ burst, rate float64 }

// makeLimits gives two worlds of three some limits, before anything is inserted.
func makeLimits(t *testing.T, conn *pgx.Conn, rnd *rand.Rand) worldLimits {
	t.Helper()
	l := worldLimits{atOnce: map[string]int{}, rates: map[string]worldRate{}}
	id := func(sql string, args ...any) string {
		var n int64
		require.NoError(t, conn.QueryRow(t.Context(), sql+` RETURNING id`, args...).Scan(&n))
		return strconv.FormatInt(n, 10)
	}
	if rnd.IntN(3) == 0 {
		most := 1 + rnd.IntN(3)
		l.atOnce[id(`INSERT INTO rowrun.concurrency_limit (name, type, max_running) VALUES ('all', $1, $2)`, workType, most)] = most
	}
	if rnd.IntN(2) == 0 {
		most := 1 + rnd.IntN(2)
		l.atOnce[id(`INSERT INTO rowrun.concurrency_limit (name, key_path, max_running) VALUES ('tenants', '{tenant}', $1)`, most)] = most
	}
	if rnd.IntN(3) == 0 { // who may go when is the bound's test in store; here it must keep to every gate, and leave nobody behind
		id(`INSERT INTO rowrun.concurrency_limit (name, key_path, share, weights) VALUES ('shares', '{tenant}', 'FAIR', '{"a": 3}')`)
	}
	if rnd.IntN(3) == 0 {
		r := worldRate{burst: float64(1 + rnd.IntN(4)), rate: float64(20 + rnd.IntN(60))}
		l.rates[id(`INSERT INTO rowrun.concurrency_limit (name, type, rate, per, burst) VALUES ('pace', $1, $2, '1 s', $3)`, workType, int(r.rate), int(r.burst))] = r
	}
	return l
}

// places holds after every commit: no key has more AVAILABLE and RUNNING runs than its limit says.
func (l worldLimits) places(state map[int64]*runRow) (violations []string) {
	taken := map[string]int{}
	for _, id := range sorted(state) {
		if r := state[id]; r.active() {
			for _, key := range r.limits {
				taken[key]++
			}
		}
	}
	for _, key := range sorted(taken) {
		limit, _, _ := strings.Cut(key, ":")
		if most, some := l.atOnce[limit]; some && taken[key] > most {
			violations = append(violations, unless(false, "limit %s: %d of %d", key, taken[key], most))
		}
	}
	return violations
}

// pace holds for every stretch of time: no more promotions of a key than burst + rate * time, by the database's clock.
func (l worldLimits) pace(commits []*commit) (violations []string) {
	at := map[string][]time.Time{}
	for _, c := range commits {
		for _, r := range c.promoted {
			for _, key := range r.limits {
				at[key] = append(at[key], r.availableAt)
			}
		}
	}
	for _, key := range sorted(at) {
		limit, _, _ := strings.Cut(key, ":")
		rate, some := l.rates[limit]
		if !some {
			continue
		}
		times := at[key]
		slices.SortFunc(times, time.Time.Compare)
		for i := range times {
			for j := i; j < len(times); j++ {
				may := rate.burst + rate.rate*times[j].Sub(times[i]).Seconds()
				if n := float64(j - i + 1); n > may+0.001 {
					violations = append(violations, unless(false, "rate %s: %v in %s, and not %.3f", key, n, times[j].Sub(times[i]), may))
				}
			}
		}
	}
	return violations
}
