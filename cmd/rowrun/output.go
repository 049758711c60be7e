package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/pflag"
)

// output is the form in which a command shows what it found.
type output struct{ format string }

func (o *output) register(flags *pflag.FlagSet) {
	o.format = "table"
	flags.VarP(&choiceValue{value: &o.format, choices: []string{"table", "json"}}, "output", "o", "form of the output")
}

// table is what people read; the JSON form is written from the value itself.
type table struct {
	header []string
	rows   [][]string
}

// write shows value as indented JSON, or t as a table.
func (o *output) write(w io.Writer, value any, t table) error {
	if o.format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(value); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		return nil
	}
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(tabs, strings.Join(t.header, "\t"))
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
		}
		if err == nil {
			_, err = fmt.Fprintln(tabs, strings.TrimRight(strings.Join(cells, "\t"), "\t "))
		}
	}
	if err == nil {
		err = tabs.Flush()
	}
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// printable keeps a value on its line and out of the terminal's control: names
// and details come from users and from programs that were run.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
