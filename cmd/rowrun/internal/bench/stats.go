package bench

import "github.com/rowrun/rowrun/cmd/rowrun/measure"

// percentile is that of measure, and 0 where there are no values: JSON has no other word for it.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return measure.Percentile(values, p)
}

// median is that of measure, and 0 where there are no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return measure.Median(values)
}
