package storetest

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Soak says that ROWRUN_SOAK asks for more than the scaled counts.
func Soak() bool { return soak() > 0 }

// soak is the part of the full counts that ROWRUN_SOAK asks for: 1 for all of them, 0 where it isn't set. What is no number
// above 0 and up to 1 is a mistake in a command line.
func soak() float64 {
	text, ok := os.LookupEnv("ROWRUN_SOAK")
	if !ok {
		return 0
	}
	part, err := strconv.ParseFloat(text, 64)
	if err != nil || !(part > 0 && part <= 1) {
		panic("ROWRUN_SOAK=" + strconv.Quote(text) + ": must be 1, or a part of the full counts like 0.05")
	}
	return part
}

// Count is full in a soak and scaled otherwise. In a soak of a part it is that part of full, and not below scaled.
func Count(scaled, full int) int {
	return max(scaled, int(math.Ceil(soak()*float64(full))))
}

// Seed is a new seed, or that of ROWRUN_SEED, and prints it, so that a failure
// can be repeated.
func Seed(t testing.TB) int64 {
	t.Helper()
	seed := rand.Int64() //nolint:gosec // not a secret
	if text, ok := os.LookupEnv("ROWRUN_SEED"); ok {
		given, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("ROWRUN_SEED=%q: must be an integer", text)
		}
		seed = given
	}
	t.Logf("ROWRUN_SEED=%d", seed)
	return seed
}

// TwoSteps says whether runs are promoted and claimed in two versions of their rows: a test's own choice, or what
// ROWRUN_TWO_STEPS forces on all.
func TwoSteps(t testing.TB, own bool) bool {
	t.Helper()
	text := os.Getenv("ROWRUN_TWO_STEPS")
	if text == "" {
		return own
	}
	forced, err := strconv.ParseBool(text)
	if err != nil {
		t.Fatalf("ROWRUN_TWO_STEPS=%q: must be true or false", text)
	}
	return forced
}
