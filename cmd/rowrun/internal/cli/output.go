package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
)

// Output is the form in which a command shows what it found.
type Output struct{ Format string }

// Register adds --output.
func (o *Output) Register(flags *pflag.FlagSet) {
	o.Format = "table"
	flags.VarP(&choiceValue{value: &o.Format, choices: []string{"table", "json"}}, "output", "o", "form of the output")
}

// Table is what people read; the JSON form is written from the value itself.
type Table struct {
	Header []string
	Rows   [][]string
}

// Write shows value as indented JSON, or t as a table.
func (o *Output) Write(w io.Writer, value any, t Table) error {
	if o.Format == "json" {
		encoder := json.NewEncoder(escaped{w})
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(value); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		return nil
	}
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(tabs, strings.Join(t.Header, "\t"))
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Printable(cell)
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

// escaped writes JSON with whatever is not printable as \u: it means the same, and a terminal shows it instead of obeying.
type escaped struct{ to io.Writer }

func (e escaped) Write(document []byte) (int, error) {
	var safe bytes.Buffer
	for _, r := range string(document) { // what is not printable stands in strings only
		switch {
		case r == '\n' || unicode.IsPrint(r):
			safe.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&safe, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&safe, `\u%04x`, r)
		}
	}
	if _, err := e.to.Write(safe.Bytes()); err != nil {
		return 0, err
	}
	return len(document), nil
}

// Printable keeps a value on its line and out of the terminal's control: names
// and details come from users and from programs that were run.
func Printable(text string) string { return stream.OneLine(text) }

// printableLines is printable for each line of a text.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
