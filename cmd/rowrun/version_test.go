package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionIsTheBuildsOrTheModules(t *testing.T) {
	t.Parallel()
	of := func(version string) func() (*debug.BuildInfo, bool) {
		return func() (*debug.BuildInfo, bool) {
			return &debug.BuildInfo{Main: debug.Module{Version: version}}, true
		}
	}
	require.Equal(t, "v1.2.3", versionOf("v1.2.3", of("v9.9.9")), "-ldflags say it")
	require.Equal(t, "v0.1.0", versionOf("dev", of("v0.1.0")), "go install …@v0.1.0")
	require.Equal(t, "dev", versionOf("dev", of("(devel)")))
	require.Equal(t, "dev", versionOf("dev", func() (*debug.BuildInfo, bool) { return nil, false }))
}
