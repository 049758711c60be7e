package tracing

import (
	"context"

	"github.com/rs/zerolog"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// reporting says once when spans can't be sent, and once when they can again: OpenTelemetry's own way is a global
// handler that writes a line for each try. It is called by one goroutine at a time.
type reporting struct {
	sdktrace.SpanExporter
	log    zerolog.Logger
	failed bool
}

// ExportSpans hands spans on; its error has been reported.
func (r *reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil && !r.failed:
		// Its text may hold the collector's address with a password in it.
		r.log.Warn().Int("spans", len(spans)).Msg("traces could not be sent and were dropped; look at OTEL_EXPORTER_OTLP_ENDPOINT and the collector")
	case err == nil && r.failed:
		r.log.Info().Msg("traces are sent again")
	}
	r.failed = err != nil
	return nil
}
