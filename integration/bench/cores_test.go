package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Each station's median is of itself, whatever was held longest in a round; a bound is by what is used up first.
func TestWhatBoundsRuns(t *testing.T) {
	t.Parallel()
	m := median([]demands{
		{rate: 1, cpu: 100, insert: 5, serial: []station{{"lock", 10}, {"flush", 30}}},
		{rate: 3, cpu: 200, insert: 7, serial: []station{{"lock", 50}, {"flush", 20}}},
		{rate: 2, cpu: 300, insert: 6, serial: []station{{"lock", 40}, {"flush", 10}}},
	})
	require.Equal(t, demands{rate: 2, cpu: 200, insert: 6, serial: []station{{"lock", 40}, {"flush", 20}}}, m)
	rate, by := m.bound(2)
	require.InDelta(t, 10_000, rate, 1e-6)
	require.Equal(t, "CPU", by)
	rate, by = m.bound(64)
	require.InDelta(t, 25_000, rate, 1e-6)
	require.Equal(t, "lock", by)
}
