package main

import (
	"fmt"
	"strings"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// spread shows percentiles in ms.
func spread(values []float64, percentiles ...float64) string {
	parts := make([]string, 0, len(percentiles)+1)
	for _, p := range percentiles {
		parts = append(parts, fmt.Sprintf("p%g %.2f", p, measure.Percentile(values, p)))
	}
	return strings.Join(append(parts, fmt.Sprintf("max %.2f ms", measure.Percentile(values, 100))), ", ")
}
