package tracing

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// errConsole: the standard output belongs to the stream.
var errConsole = errors.New("OTEL_TRACES_EXPORTER: console is not accepted, the standard output belongs to the stream; accepted: otlp, none")

// FromEnvironment makes the exporter that the variables OTEL_* ask for; nil: they ask for none. lookup says whether
// they do; OpenTelemetry reads the variables of the process itself.
func FromEnvironment(ctx context.Context, lookup func(string) (string, bool)) (sdktrace.SpanExporter, error) {
	get := func(name string) string {
		value, _ := lookup(name)
		return strings.ToLower(strings.TrimSpace(value))
	}
	exporter := get("OTEL_TRACES_EXPORTER")
	switch {
	case get("OTEL_SDK_DISABLED") == "true", exporter == "none":
		return nil, nil
	case exporter == "console":
		return nil, errConsole
	case exporter == "" && get("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "":
		return nil, nil
	}
	return autoexport.NewSpanExporter(ctx)
}
