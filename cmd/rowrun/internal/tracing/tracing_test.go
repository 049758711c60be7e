package tracing_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/tracing"
	"github.com/rowrun/rowrun/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// taken keeps what it is given beyond its shutdown, and refuses while broken is set.
type taken struct {
	mu     sync.Mutex
	spans  tracetest.SpanStubs
	broken error
}

func (e *taken) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken != nil {
		return e.broken
	}
	e.spans = append(e.spans, tracetest.SpanStubsFromReadOnlySpans(spans)...)
	return nil
}

func (e *taken) Shutdown(context.Context) error { return nil }

func newTracer(t *testing.T, e *taken, logs *bytes.Buffer) *tracing.Tracer {
	t.Helper()
	tracer, err := tracing.New(t.Context(), tracing.Config{Exporter: e, Replica: "one", Version: "v1", Log: zerolog.New(logs)})
	require.NoError(t, err)
	return tracer
}

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	asked   = "00-" + traceID + "-b7ad6b7169203331-01"
)

func TestSpanOfARunIsLinkedToWhoAskedForIt(t *testing.T) {
	t.Parallel()
	var e taken
	tracer := newTracer(t, &e, &bytes.Buffer{})
	plan := int64(9)
	ctx, end := tracer.Trace(t.Context(), &store.Claim{
		ID: 7, RootID: 5, TaskID: 3, TaskName: "add index", PlanID: &plan, Attempt: 1, Type: "SQL", Queue: "default",
		DatabaseID: "orders", Payload: json.RawMessage(`{"sql":"secret"}`), TraceParent: asked,
	})
	within := trace.SpanContextFromContext(ctx)
	require.True(t, within.IsValid(), "the executor is in the span")
	end("")
	_, end = tracer.Trace(t.Context(), &store.Claim{ID: 8, RootID: 8, TaskID: 3, Type: "NOOP", Queue: "default"})
	end("TIMEOUT")
	tracer.Close()

	require.Len(t, e.spans, 2)
	done, failed := e.spans[0], e.spans[1]
	require.Equal(t, "run SQL", done.Name)
	require.Equal(t, within.SpanID(), done.SpanContext.SpanID())
	require.Len(t, done.Links, 1)
	require.Equal(t, traceID, done.Links[0].SpanContext.TraceID().String())
	require.NotEqual(t, traceID, done.SpanContext.TraceID().String(), "a link, no parent")
	require.Equal(t, codes.Unset, done.Status.Code)
	require.ElementsMatch(t, []attribute.KeyValue{
		attribute.Int64("rowrun.run.id", 7), attribute.Int64("rowrun.run.root_id", 5), attribute.Int("rowrun.run.attempt", 1),
		attribute.Int64("rowrun.task.id", 3), attribute.String("rowrun.task.name", "add index"), attribute.String("rowrun.task.type", "SQL"),
		attribute.String("rowrun.queue", "default"), attribute.Int64("rowrun.plan.id", 9), attribute.String("rowrun.database.id", "orders"),
	}, done.Attributes, "and nothing of the payload")
	require.Contains(t, done.Resource.Attributes(), attribute.String("service.instance.id", "one"))

	require.Empty(t, failed.Links)
	require.Equal(t, sdktrace.Status{Code: codes.Error, Description: "TIMEOUT"}, failed.Status)
	require.Contains(t, failed.Attributes, attribute.String("error.type", "TIMEOUT"))
}

func TestWhatIsNoTraceparentIsNoLink(t *testing.T) {
	t.Parallel()
	var e taken
	tracer := newTracer(t, &e, &bytes.Buffer{})
	for _, text := range []string{"x", traceID, "00-" + traceID + "-0000000000000000-01", "ff-" + traceID + "-b7ad6b7169203331-01", asked + "-more"} {
		_, end := tracer.Trace(t.Context(), &store.Claim{TraceParent: text})
		end("")
	}
	tracer.Close()
	require.Len(t, e.spans, 5)
	for _, span := range e.spans {
		require.Empty(t, span.Links)
	}
}

// A collector that is away is said once, without its address, and holds nobody up.
func TestSpansThatCannotBeSentAreDroppedAndSaidOnce(t *testing.T) {
	t.Parallel()
	e := taken{broken: errors.New("Post http://user:secret@collector: refused")}
	var logs bytes.Buffer
	tracer := newTracer(t, &e, &logs)
	for range 2000 { // several batches
		_, end := tracer.Trace(t.Context(), &store.Claim{Type: "NOOP"})
		end("")
	}
	tracer.Close()
	require.Equal(t, 1, bytes.Count(logs.Bytes(), []byte("traces could not be sent and were dropped")), logs.String())
	require.NotContains(t, logs.String(), "secret")
}

func TestOnlyTheEnvironmentTurnsTracingOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		variables map[string]string
		asked     bool
		wrong     bool
	}{
		"nothing":         {},
		"unrelated":       {variables: map[string]string{"OTEL_SERVICE_NAME": "mine"}},
		"an endpoint":     {variables: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, asked: true},
		"its own":         {variables: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, asked: true},
		"an exporter":     {variables: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, asked: true},
		"none":            {variables: map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}},
		"disabled":        {variables: map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"}},
		"standard output": {variables: map[string]string{"OTEL_TRACES_EXPORTER": "console"}, wrong: true},
	} {
		exporter, err := tracing.FromEnvironment(t.Context(), func(name string) (string, bool) {
			value, ok := c.variables[name]
			return value, ok
		})
		require.Equal(t, c.wrong, err != nil, name)
		require.Equal(t, c.asked, exporter != nil, name)
		if exporter != nil {
			require.NoError(t, exporter.Shutdown(t.Context()), name)
		}
	}
	_, err := tracing.New(t.Context(), tracing.Config{})
	require.Error(t, err)
}
