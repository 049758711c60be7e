package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// table prints the figures of a section when it is over.
type table struct {
	out  io.Writer
	rows *tabwriter.Writer
}

func (t *table) begin(name, about string) error {
	t.rows = tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintf(t.out, "\n%s: %s\n", name, about)
	return err
}

// row is one figure. goal is empty where there is none.
func (t *table) row(what, value, goal string) {
	_, _ = fmt.Fprintf(t.rows, "  %s\t%s\t%s\n", what, value, goal) // end reports what could not be written
}

func (t *table) end(took time.Duration) error {
	if err := t.rows.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.out, "  (%s)\n", took.Round(time.Second))
	return err
}
