package metrics

import "github.com/prometheus/client_golang/prometheus"

// Gatherer has what Handler answers with.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }
