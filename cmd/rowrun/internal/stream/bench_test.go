package stream_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/storetest"
)

// counted counts lines.
type counted struct{ lines atomic.Int64 }

func (c *counted) Write(p []byte) (int, error) {
	for _, b := range p {
		if b == '\n' {
			c.lines.Add(1)
		}
	}
	return len(p), nil
}

// BenchmarkLines prints the four lines of runs that are done, the reading of
// their rows included; what happens in the database meanwhile is not.
func BenchmarkLines(b *testing.B) {
	for _, form := range []string{"json", "text"} {
		b.Run(form, func(b *testing.B) {
			url := storetest.New(b)
			p := pool(b, url)
			id := task(b, p, "bench", "NOOP")
			// A deferred trigger per row would be most of what the commit below takes.
			exec(b, p, "ALTER TABLE rowrun.task_run DISABLE TRIGGER task_run_inserted")
			hub, listener := listening(b, url, nil)
			out := &counted{}
			printer, err := stream.NewPrinter(stream.PrinterConfig{Out: out, Text: form == "text"})
			require.NoError(b, err)
			reader, err := stream.New(stream.Config{
				Store: open(b, url), Hub: hub, Connected: listener.Connected, Printer: printer, Log: zerolog.Nop(), Buffer: 1 << 30,
			})
			require.NoError(b, err)
			b.Cleanup(reader.Close)
			background(b, reader.Run)
			eventually(b, "begin", func() bool {
				exec(b, p, "INSERT INTO rowrun.task_run (task_id) VALUES ($1)", id)
				hub.Wake()
				return out.lines.Load() > 0
			})

			const batch = 1000
			transitions := make([][]events.Transition, 0, 3*b.N/batch+3)
			ctx := context.Background()
			// The rows are inserted in one transaction that is open until the clock runs; only then the reader can see them.
			tx, err := p.Begin(ctx)
			require.NoError(b, err)
			var first int64
			require.NoError(b, tx.QueryRow(ctx, "SELECT last_value + 1 FROM rowrun.task_run_id_seq").Scan(&first))
			_, err = tx.Exec(ctx, "INSERT INTO rowrun.task_run (task_id) SELECT $1 FROM generate_series(1, $2)", id, b.N)
			require.NoError(b, err)
			for at := first; at < first+int64(b.N); at += batch {
				for _, edge := range [][2]string{{"PENDING", "AVAILABLE"}, {"AVAILABLE", "RUNNING"}, {"RUNNING", "DONE"}} {
					var part []events.Transition
					for run := at; run < min(at+batch, first+int64(b.N)); run++ {
						part = append(part, events.Transition{RunID: run, TaskID: id, From: edge[0], To: edge[1]})
					}
					transitions = append(transitions, part)
				}
			}
			before := out.lines.Load()
			b.ReportAllocs()
			b.ResetTimer()
			start := time.Now()
			require.NoError(b, tx.Commit(ctx))
			for _, part := range transitions {
				hub.Publish(part)
			}
			for tick := time.NewTicker(time.Millisecond); out.lines.Load()-before < 4*int64(b.N); {
				<-tick.C
			}
			b.ReportMetric(float64(4*b.N)/time.Since(start).Seconds(), "lines/s")
		})
	}
}
