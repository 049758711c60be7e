package cli

import (
	"testing"

	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) {
	maybeSignalTwice()
	maybeHangUp()
	storetest.Main(m)
}
