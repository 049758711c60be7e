package tracing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/rowrun/rowrun/store"
)

// closeTimeout is how long the last spans may take on their way out.
const closeTimeout = 2 * time.Second

// Config says where spans go and whose they are.
type Config struct {
	// Exporter takes the spans. Required; Close closes it.
	Exporter sdktrace.SpanExporter
	// Replica is the replica's name, Version that of its binary. Service is overruled by OTEL_SERVICE_NAME.
	Replica, Version string
	Log              zerolog.Logger
}

// Tracer makes spans. Close it.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	log      zerolog.Logger
}

// New makes a tracer, whose sampler and queue follow the variables OTEL_TRACES_SAMPLER and OTEL_BSP_*.
func New(ctx context.Context, config Config) (*Tracer, error) {
	if config.Exporter == nil {
		return nil, errors.New("tracing needs an exporter")
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(
			attribute.String("service.name", "rowrun"),
			attribute.String("service.version", config.Version),
			attribute.String("service.instance.id", config.Replica)),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("tracing: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(about),
		sdktrace.WithBatcher(&reporting{SpanExporter: config.Exporter, log: config.Log}))
	return &Tracer{
		provider: provider, log: config.Log,
		tracer: provider.Tracer("github.com/rowrun/rowrun", trace.WithInstrumentationVersion(config.Version)),
	}, nil
}

// Trace begins the span of a run. What it returns is for the executor; end is called when that has returned, with the
// run's code where it failed.
func (t *Tracer) Trace(ctx context.Context, c *store.Claim) (traced context.Context, end func(code string)) {
	attributes := []attribute.KeyValue{
		attribute.Int64("rowrun.run.id", c.ID),
		attribute.Int64("rowrun.run.root_id", c.RootID),
		attribute.Int("rowrun.run.attempt", c.Attempt),
		attribute.Int64("rowrun.task.id", c.TaskID),
		attribute.String("rowrun.task.name", c.TaskName),
		attribute.String("rowrun.task.type", c.Type),
		attribute.String("rowrun.queue", c.Queue),
	}
	if c.PlanID != nil {
		attributes = append(attributes, attribute.Int64("rowrun.plan.id", *c.PlanID))
	}
	if c.DatabaseID != "" {
		attributes = append(attributes, attribute.String("rowrun.database.id", c.DatabaseID))
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attributes...)}
	if asked := parent(c.TraceParent); asked.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: asked}))
	}
	traced, span := t.tracer.Start(ctx, "run "+c.Type, options...)
	return traced, func(code string) {
		if code != "" {
			span.SetStatus(codes.Error, code)
			span.SetAttributes(attribute.String("error.type", code))
		}
		span.End()
	}
}

// parent reads a traceparent of W3C's Trace Context; what is none is not valid.
func parent(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	return trace.SpanContextFromContext(ctx)
}

// Close sends what is left, within two seconds.
func (t *Tracer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn().Msg("the last traces could not be sent")
	}
}
