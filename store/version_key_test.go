package store_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rowrun/rowrun/store/storetest"
)

// The order of version_key's bytes is that of the versions, number by number, 1.0 = 1.
func TestVersionKeyOrdersAsNumbersDo(t *testing.T) {
	t.Parallel()
	number := rapid.OneOf(rapid.StringMatching(`0{0,3}[0-9]{1,3}`), rapid.StringMatching(`[0-9]{1,20}`), rapid.Just("0"))
	version := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(number, 1, 10).Draw(t, "numbers"), ".")
	})
	storetest.CheckWith(t, 100, 10_000, func(t *testing.T) func(*rapid.T) {
		conn := connect(t, storetest.New(t))
		return func(rt *rapid.T) {
			a := version.Draw(rt, "a")
			b := version.Draw(rt, "b")
			if rapid.Bool().Draw(rt, "alike") { // a common beginning, so that what follows decides
				b = strings.Join(append(strings.Split(a, ".")[:1], strings.Split(b, ".")[1:]...), ".")
			}
			var got int
			err := conn.QueryRow(t.Context(), `SELECT CASE WHEN x.a < x.b THEN -1 WHEN x.a > x.b THEN 1 ELSE 0 END
				FROM (SELECT rowrun.version_key($1) COLLATE "C" AS a, rowrun.version_key($2) COLLATE "C" AS b) x`, a, b).Scan(&got)
			require.NoError(rt, err)
			require.Equal(rt, compareVersions(a, b), got, "%s and %s", a, b)
		}
	})
}

func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if c := numberAt(as, i).Cmp(numberAt(bs, i)); c != 0 {
			return c
		}
	}
	return 0
}

func numberAt(numbers []string, i int) *big.Int {
	n := new(big.Int)
	if i < len(numbers) {
		n.SetString(numbers[i], 10)
	}
	return n
}
