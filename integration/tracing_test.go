package integration_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// traced collects the spans that are sent to a collector.
type traced struct {
	mu    sync.Mutex
	spans map[int64]*otlp.Span // by run
}

func (c *traced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
		http.Error(w, "not a batch of spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				for _, a := range span.Attributes {
					if a.Key == "rowrun.run.id" {
						c.spans[a.Value.GetIntValue()] = span
					}
				}
			}
		}
	}
}

// A run's span leaves the process: those of a drain too, and linked to the trace that the run's input or its task's
// labels name, the input's first.
func TestRunsAreTracedWhereTheEnvironmentAsks(t *testing.T) {
	t.Parallel()
	spans := &traced{spans: map[int64]*otlp.Span{}}
	server := httptest.NewServer(spans)
	t.Cleanup(server.Close)
	d := newDatabase(t)
	const ofInput, ofLabels = "0af7651916cd43dd8448eb211c80319c", "11111111111111111111111111111111"
	var runs [3]int64
	for i, sql := range []string{
		`WITH t AS (INSERT INTO rowrun.task (type, labels) VALUES ('NOOP', '{"traceparent": "00-` + ofLabels + `-b7ad6b7169203331-01"}') RETURNING id)
SELECT rowrun.run_task(id, '{"traceparent": "00-` + ofInput + `-b7ad6b7169203331-01"}') FROM t`,
		`SELECT rowrun.run_task(max(id)) FROM rowrun.task`,
		`WITH t AS (INSERT INTO rowrun.task (type, payload) VALUES ('NOOP', '{"fail": "as asked"}') RETURNING id) SELECT rowrun.run_task(id) FROM t`,
	} {
		runs[i] = ask[int64](t, d, sql)
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, program.path, "serve", "--http-addr", "off")
	cmd.Env = append(environment(), "DATABASE_URL="+d.url, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_BSP_SCHEDULE_DELAY=60000")
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	eventually(t, patience, "the runs have ended", func() bool {
		return ask[int](t, d, `SELECT count(*)::int FROM rowrun.task_run WHERE finished_at IS NULL`) == 0
	})
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait(), log.String())

	spans.mu.Lock()
	defer spans.mu.Unlock()
	require.Len(t, spans.spans, 3, "the last are sent before the end: %s", log.String())
	for i, want := range []string{ofInput, ofLabels} {
		links := spans.spans[runs[i]].Links
		require.Len(t, links, 1)
		require.Equal(t, want, hex.EncodeToString(links[0].TraceId))
	}
	require.Empty(t, spans.spans[runs[2]].Links)
	require.Equal(t, otlp.Status_STATUS_CODE_ERROR, spans.spans[runs[2]].Status.Code)
	require.Equal(t, "run NOOP", spans.spans[runs[2]].Name)
}
