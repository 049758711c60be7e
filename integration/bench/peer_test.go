package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// shell is a peer that runs a script: $0 is its preset, $1 the action, the rest numbers.
func shell(script string) peer {
	return peer{&database{url: "postgres://nobody@localhost/nowhere"}, []string{"sh", "-c", script}, "preset"}
}

func TestAPeerIsAskedInItsWordsAndSaysWhatItMeasured(t *testing.T) {
	t.Parallel()
	p := shell(`printf '{"peer":"%s","version":"%s","settings":"%s %s","seconds":2.5,"cpu_seconds":0.5,"delays_ms":[1,2]}' "$0" "$1" "$2" "$3"`)
	got, err := p.measure(t.Context(), "starts", 100, 5)
	require.NoError(t, err)
	require.Equal(t, outcome{Peer: "preset", Version: "starts", Settings: "100 5", Seconds: 2.5, CPUSeconds: 0.5, DelaysMS: []float64{1, 2}}, got)
	require.Equal(t, "preset starts: 100 5", got.about())
}

func TestAPeerThatFailsIsQuoted(t *testing.T) {
	t.Parallel()
	_, err := shell(`echo "3 of 5 jobs began" >&2; exit 1`).measure(t.Context(), "drain", 5)
	require.ErrorContains(t, err, "preset drain: ")
	require.ErrorContains(t, err, "3 of 5 jobs began")
	_, err = shell(`echo no JSON`).measure(t.Context(), "drain", 5)
	require.ErrorContains(t, err, "preset drain: ")
}
