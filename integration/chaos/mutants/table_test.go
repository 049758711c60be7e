package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// A mutant whose text has gone from the tree would be no mutant, and end the whole hunt.
func TestTheTextOfEachMutantIsFound(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), settings{source: "../../..", check: true}, &out))
	require.Contains(t, out.String(), "each text is found")
}
