package storetest

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// partSize is how many checks make a part, which has what prepare makes to itself: few copies of a database, and parts that
// run side by side.
const partSize = 1000

// flagsOfRapid guards the flags with which rapid is told counts and seeds: they are those of the whole process.
var flagsOfRapid sync.Mutex //nolint:gochecknoglobals // as the flags are

// Check is rapid.Check with the scaled count of checks, or the full one in a soak, from a seed that it prints. Each part of
// at most a thousand is a test of its own, named by its seed. Flags and variables of rapid's own (-rapid.checks, RAPID_SEED)
// are obeyed instead, in one part. Fewer checks than asked for are a failure: rapid itself is content with what it gets done
// before the test's deadline.
func Check(t *testing.T, scaled, full int, property func(*rapid.T)) {
	t.Helper()
	CheckWith(t, scaled, full, func(*testing.T) func(*rapid.T) { return property })
}

// CheckWith is Check of a property that prepare makes for each part: with a database of its own.
func CheckWith(t *testing.T, scaled, full int, prepare func(t *testing.T) func(*rapid.T)) {
	t.Helper()
	if rapidIsTold() {
		rapid.Check(t, prepare(t))
		return
	}
	seed, checks := uint64(Seed(t)), Count(scaled, full) //nolint:gosec // 0 to 2^64
	t.Logf("%d checks", checks)
	for part := 0; part*partSize < checks; part++ {
		// Behind the seeds that the parts before it count up to, in steps of 0, 1, 2 …
		from, n := seed+uint64(part)<<32, min(partSize, checks-part*partSize)
		t.Run(fmt.Sprintf("seed=%d", int64(from)), func(t *testing.T) { //nolint:gosec // back again
			t.Parallel()
			checkPart(t, n, from, prepare(t))
		})
	}
}

func checkPart(t *testing.T, checks int, seed uint64, property func(*rapid.T)) {
	t.Helper()
	flagsOfRapid.Lock()
	told := sync.OnceFunc(flagsOfRapid.Unlock)
	defer told()
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(checks), "rapid.seed": strconv.FormatUint(max(seed, 1), 10)} {
		if err := flag.Lookup(name).Value.Set(value); err != nil {
			t.Fatalf("storetest: -%s=%s: %v", name, value, err)
		}
	}
	ran := 0
	rapid.Check(t, func(rt *rapid.T) {
		told() // both were read before the first check
		ran++
		property(rt)
	})
	if ran < checks {
		t.Errorf("%d of %d checks were made before the deadline", ran, checks)
	}
}

// rapidIsTold says that somebody gave rapid a flag or a variable for what Check sets by itself. What Check sets isn't
// among the flags that were given.
func rapidIsTold() bool {
	names := []string{"checks", "seed", "failfile"}
	told := slices.ContainsFunc(names, func(name string) bool { return os.Getenv("RAPID_"+strings.ToUpper(name)) != "" })
	flag.Visit(func(f *flag.Flag) { told = told || slices.Contains(names, strings.TrimPrefix(f.Name, "rapid.")) })
	return told
}
