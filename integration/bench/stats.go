package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// percentile is the smallest value that at least p percent of the values do not exceed (nearest rank).
// The values need no order; none of them: NaN.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// median is the middle value, of an even number the mean of the two in the middle. None: NaN.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// spread shows percentiles in ms.
func spread(values []float64, percentiles ...float64) string {
	parts := make([]string, 0, len(percentiles)+1)
	for _, p := range percentiles {
		parts = append(parts, fmt.Sprintf("p%g %.2f", p, percentile(values, p)))
	}
	return strings.Join(append(parts, fmt.Sprintf("max %.2f ms", percentile(values, 100))), ", ")
}
