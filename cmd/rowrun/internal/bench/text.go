package bench

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Introduce writes what was measured on what, for people.
func (r Report) Introduce(w io.Writer) error {
	settings := make([]string, 0, len(r.Server.Settings))
	for _, s := range r.Server.Settings {
		settings = append(settings, s.Name+" = "+s.Value)
	}
	stream := "off"
	if r.Server.Stream {
		stream = "on"
	}
	_, err := fmt.Fprintf(w, "rowrun %s, %s, %s, %d cores; stream %s\nPostgreSQL %s, schema version %d; %s\nrowrun.task_run about %d rows, %s MiB; database %s MiB\n"+
		"--runs %d, --rate %d, --duration %s, --writers %d, --replicas %d, --concurrency %d, --rounds %d: medians (least to most)\n",
		r.Program.Version, r.Program.Go, r.Program.Platform, r.Program.Cores, stream,
		r.Server.Version, r.Server.SchemaVersion, strings.Join(settings, ", "), r.Server.Runs, mib(r.Server.RunBytes), mib(r.Server.DatabaseBytes),
		r.Sizes.Runs, r.Sizes.Rate, time.Duration(r.Sizes.Seconds*float64(time.Second)), r.Sizes.Writers, r.Sizes.Replicas, r.Sizes.Concurrency, r.Sizes.Rounds)
	for _, note := range r.Notes {
		if err == nil {
			_, err = fmt.Fprintln(w, "note: "+note)
		}
	}
	return err
}

// Write writes a measurement as a table: a line per case, a column per figure.
func (m Measurement) Write(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "\n%s: %s (%.0f s)\n", m.Name, m.About, m.Seconds); err != nil {
		return err
	}
	columns := m.columns()
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	header := []string{"CASE", "RUNS"}
	for _, c := range columns {
		name := strings.ReplaceAll(strings.ReplaceAll(c.Name, "_per_run", "/run"), "_", " ")
		header = append(header, strings.TrimSpace(strings.ToUpper(name)+" "+c.Unit))
	}
	_, _ = fmt.Fprintln(tabs, strings.Join(header, "\t")) // Flush reports what could not be written
	for _, c := range m.Cases {
		cells := []string{c.Name, strconv.Itoa(c.Runs)}
		for i, column := range columns {
			cells = append(cells, c.figure(column.Name).cell(i == 0))
		}
		_, _ = fmt.Fprintln(tabs, strings.TrimRight(strings.Join(cells, "\t"), "\t "))
	}
	if err := tabs.Flush(); err != nil {
		return err
	}
	for _, note := range m.Notes {
		if _, err := fmt.Fprintln(w, "note: "+note); err != nil {
			return err
		}
	}
	return nil
}

// columns are the figures of all cases, in the order in which they first come.
func (m Measurement) columns() []*Figure {
	var columns []*Figure
	seen := map[string]bool{}
	for _, c := range m.Cases {
		for _, f := range c.Figures {
			if !seen[f.Name] {
				seen[f.Name] = true
				columns = append(columns, f)
			}
		}
	}
	return columns
}

// cell shows a figure, which a case may not have, with its range where there is one.
func (f *Figure) cell(ranged bool) string {
	switch {
	case f == nil:
		return "-"
	case ranged && len(f.rounds) > 1:
		return fmt.Sprintf("%s (%s to %s)", short(f.Value), short(f.Least), short(f.Most))
	}
	return short(f.Value)
}

// short shows a number with three digits that count, and no fraction from 100 on.
func short(v float64) string {
	switch size := math.Abs(v); {
	case size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case size >= 1 || size == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

func mib(bytes int64) string { return short(float64(bytes) / (1 << 20)) }
