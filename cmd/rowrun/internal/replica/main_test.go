package replica

import (
	"testing"

	"github.com/rowrun/rowrun/scheduler/cmdexec"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) {
	cmdexec.MaybeSupervise()
	maybeServeDeaf()
	storetest.Main(m)
}
