package commands

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The examples of the guidelines for monitoring plug-ins, and our own.
func TestRangesOfMonitoringPlugIns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text      string
		ages      bool
		bad, good []float64
		shown     string
	}{
		{"10", false, []float64{-1, 10.5, 11}, []float64{0, 5, 10}, "10"},
		{"10:", false, []float64{-1, 9.9}, []float64{10, 1e9}, "10:"},
		{"~:10", false, []float64{10.1}, []float64{-1e9, 10}, "~:10"},
		{"10:20", false, []float64{9, 21}, []float64{10, 20}, "10:20"},
		{"@10:20", false, []float64{10, 15, 20}, []float64{9, 21}, "@10:20"},
		{":10", false, []float64{11, -1}, []float64{0, 10}, "10"},
		{"@10", false, []float64{0, 10}, []float64{-1, 11}, "@10"},
		{"~:", false, nil, []float64{-1e9, 1e9}, "~:"},
		{"0:", false, []float64{-1}, []float64{0, 1e9}, "0:"},
		{"-5:-1", false, []float64{-6, 0}, []float64{-5, -1}, "-5:-1"},
		{"1.5", false, []float64{1.6}, []float64{1.5}, "1.5"},
		{"5m", true, []float64{301}, []float64{300}, "300"},
		{"1m:1h", true, []float64{59, 3601}, []float64{60, 3600}, "60:3600"},
		{"90", true, []float64{91}, []float64{90}, "90"},
	} {
		s, err := parseSpan(c.text, c.ages, false)
		require.NoError(t, err, c.text)
		for _, value := range c.bad {
			require.True(t, s.bad(value), "%s: %v", c.text, value)
		}
		for _, value := range c.good {
			require.False(t, s.bad(value), "%s: %v", c.text, value)
		}
		require.Equal(t, c.shown, s.String())
	}
	least, err := parseSpan("2", false, true)
	require.NoError(t, err)
	require.Equal(t, span{from: 2, to: math.Inf(1)}, least)
	for _, text := range []string{"", ":", "@", "@:", "20:10", "x", "1:2:3", "5m", "NaN", "inf", "1,2", "~", "10:~", " "} {
		_, err := parseSpan(text, false, false)
		require.Error(t, err, text)
	}
}

func TestThresholdsAreOneOrTwoRanges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"5m": "300", "1m,5m": "60,300", "1m,": "60,", ",5m": "300", "~:1, @2:3": "~:1,@2:3"} {
		l := &thresholds{ages: true}
		require.NoError(t, l.Set(text), text)
		require.Equal(t, want, l.String())
	}
	for _, text := range []string{"", ",", "1,2,3", "a,1"} {
		require.Error(t, (&thresholds{}).Set(text), text)
	}
}

// What is built in is accepted, and shown in the help as it is written.
func TestDefaultsOfTheCheckAreThresholds(t *testing.T) {
	t.Parallel()
	for _, f := range figures() {
		l := &thresholds{ages: f.unit == "s", least: f.least}
		require.NoError(t, l.Set(f.defaults), f.flag)
	}
}
