package main

import (
	"fmt"
	"math"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// dayFigures are what a simulated day leaves.
type dayFigures struct {
	runs        int64   // that came in that day, ticks and retries among them
	memory      float64 // MiB resident of the sidecar that is never restarted: the median of the day
	connections float64 // to the database, of all sidecars: the most
	table       float64 // MiB of rowrun.task_run at the day's end
	indexes     float64 // MiB of its indexes
	schema      float64 // MiB of all of the schema
	dead        float64 // dead rows of all of the schema: the median of the day
	p50, p99    float64 // ms from the insert of a single run to its start
}

// bound says how much a figure may be later of what it was before: factor × before + extra.
type bound struct {
	name, unit    string
	of            func(dayFigures) float64
	factor, extra float64
}

// bounds are as narrow as the noise of a small machine allows: what leaks a little a day is more by the end of the week.
func bounds() []bound {
	return []bound{
		{"memory", " MiB", func(d dayFigures) float64 { return d.memory }, 1.20, 5},
		{"connections", "", func(d dayFigures) float64 { return d.connections }, 1, 2},
		{"task_run", " MiB", func(d dayFigures) float64 { return d.table }, 1.20, 4},
		{"indexes of task_run", " MiB", func(d dayFigures) float64 { return d.indexes }, 1.25, 4},
		{"schema", " MiB", func(d dayFigures) float64 { return d.schema }, 1.25, 8},
		{"dead rows", "", func(d dayFigures) float64 { return d.dead }, 1.5, 10_000},
		{"start p50", " ms", func(d dayFigures) float64 { return d.p50 }, 1.5, 5},
		{"start p99", " ms", func(d dayFigures) float64 { return d.p99 }, 2, 100},
	}
}

func (b bound) String() string {
	return fmt.Sprintf("%s ≤ %g × + %g%s", b.name, b.factor, b.extra, b.unit)
}

// judgeWeek names what has grown. The first day of three or more only fills the tables: until retention begins to remove,
// everything grows. Of the rest the later half is held against the earlier one, each by its median.
func judgeWeek(days []dayFigures) (grown []string) {
	if len(days) < 2 {
		return []string{"one day tells of no growth: give two or more"}
	}
	if len(days) > 2 {
		days = days[1:]
	}
	half := len(days) / 2
	for _, b := range bounds() {
		before, after := middle(days[:half], b.of), middle(days[len(days)-half:], b.of)
		switch limit := b.factor*before + b.extra; {
		case math.IsNaN(before) || math.IsNaN(after):
			grown = append(grown, b.name+": was not measured")
		case after > limit:
			grown = append(grown, fmt.Sprintf("%s: %.4g%s before, %.4g%s later; accepted: %.4g × + %g, which is %.4g%s", b.name, before, b.unit, after, b.unit, b.factor, b.extra, limit, b.unit))
		}
	}
	for i, d := range days {
		if d.runs == 0 {
			grown = append(grown, fmt.Sprintf("day %d of those that count: no run came", i+1))
		}
	}
	return grown
}

func middle(days []dayFigures, of func(dayFigures) float64) float64 {
	values := make([]float64, 0, len(days))
	for _, d := range days {
		if math.IsNaN(of(d)) {
			return math.NaN()
		}
		values = append(values, of(d))
	}
	return measure.Median(values)
}
