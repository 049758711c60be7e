package main

import (
	"context"
	"testing"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// rowrun runs one command line in this process, with these variables only.
func rowrun(ctx context.Context, t *testing.T, variables map[string]string, args ...string) rowruntest.Outcome {
	t.Helper()
	return rowruntest.Run(ctx, t, run, variables, args...)
}
