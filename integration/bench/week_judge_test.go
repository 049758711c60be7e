package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// steady is a week in which nothing grows: the first day fills.
func steady(days int) []dayFigures {
	week := make([]dayFigures, days)
	for i := range week {
		week[i] = dayFigures{runs: 1000, memory: 30, connections: 12, table: 40, indexes: 60, schema: 120, dead: 50_000, p50: 2, p99: 30}
	}
	week[0] = dayFigures{runs: 1000, memory: 20, connections: 12, table: 20, indexes: 30, schema: 60, dead: 100, p50: 1, p99: 10}
	return week
}

func TestWeekIsJudgedByItsLaterHalf(t *testing.T) {
	t.Parallel()
	require.Empty(t, judgeWeek(steady(7)), "the first day only fills")
	require.Empty(t, judgeWeek(steady(3)))
	for name, grow := range map[string]func(*dayFigures, float64){
		"memory":              func(d *dayFigures, by float64) { d.memory *= by },
		"connections":         func(d *dayFigures, by float64) { d.connections *= by },
		"task_run":            func(d *dayFigures, by float64) { d.table *= by },
		"indexes of task_run": func(d *dayFigures, by float64) { d.indexes *= by },
		"schema":              func(d *dayFigures, by float64) { d.schema *= by },
		"dead rows":           func(d *dayFigures, by float64) { d.dead *= by * by },
		"start p50":           func(d *dayFigures, by float64) { d.p50 *= by * by * by },
		"start p99":           func(d *dayFigures, by float64) { d.p99 *= by * by * by },
	} {
		week := steady(7)
		for i := range week {
			grow(&week[i], 1+0.25*float64(i)) // a quarter of the first more each day
		}
		grown := judgeWeek(week)
		require.Len(t, grown, 1, name)
		require.Contains(t, grown[0], name+": ")
		require.Contains(t, grown[0], "accepted: ")
	}
	odd := steady(7)
	odd[3].memory, odd[5].p99 = 300, 5000
	require.Empty(t, judgeWeek(odd), "one bad day is no growth")
}

func TestWeekOfWhichTooLittleIsKnownIsRefused(t *testing.T) {
	t.Parallel()
	require.Len(t, judgeWeek(steady(1)), 1)
	unknown := steady(4)
	unknown[3].p50 = math.NaN()
	require.Equal(t, []string{"start p50: was not measured"}, judgeWeek(unknown))
	idle := steady(2)
	idle[1] = idle[0]
	idle[1].runs = 0
	require.Equal(t, []string{"day 2 of those that count: no run came"}, judgeWeek(idle))
}
