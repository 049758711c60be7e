package storetest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Soak says that ROWRUN_SOAK=1 asks for the full counts.
func Soak() bool { return os.Getenv("ROWRUN_SOAK") == "1" }

// Count is full in a soak and scaled otherwise.
func Count(scaled, full int) int {
	if Soak() {
		return full
	}
	return scaled
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
