package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChooseRefusesAnUnknownSection(t *testing.T) {
	t.Parallel()
	all, err := choose(ownSuite, " ")
	require.NoError(t, err)
	require.Len(t, all, len(ownSections()))
	some, err := choose(ownSuite, "idle, latency")
	require.NoError(t, err)
	require.Equal(t, []string{"idle", "latency"}, []string{some[0].name, some[1].name})
	_, err = choose(ownSuite, "idle,speed")
	require.EqualError(t, err, `-only: "speed" is not accepted; accepted: latency, successor, drain, blocked, others, limits, stream, idle, schedules, workers, replicas, cores, scale, large, plans`)
	_, err = choose(peersSuite, "idle")
	require.ErrorContains(t, err, `"idle" is not accepted`)
	_, err = choose("speed", "")
	require.EqualError(t, err, `-suite: "speed" is not accepted; accepted: own, peers, week`)
}
