package simulation

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if _, part := os.LookupEnv(partVariable); part {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}
