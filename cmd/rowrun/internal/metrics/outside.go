package metrics

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Outside answers scrapes with what the database tells of the deployment: for a process that is no replica. Of the
// configuration it takes Store, Deployment, Version and Log.
func Outside(config Config) (http.Handler, error) {
	if config.Store == nil || config.Deployment == "" {
		return nil, errors.New("metrics: a store and its deployment are required")
	}
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "rowrun", Name: "build_info", Help: buildInfo}, []string{"version"})
	info.WithLabelValues(config.Version).Set(1)
	registry := prometheus.NewRegistry()
	labeled := prometheus.WrapRegistererWith(prometheus.Labels{"deployment": shortID(config.Deployment)}, registry)
	for _, c := range []prometheus.Collector{
		info, newDatabase(config), newPool(config.Store),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := labeled.Register(c); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	return handler(registry), nil
}

// handler answers scrapes.
func handler(registry prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 5 * time.Second})
}
