package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/stream"
)

// Output is the form in which a command shows what it found.
type Output struct {
	Format string
	Lookup func(string) (string, bool)
	// screen is what is written for while the output itself is gathered; nil: whatever it goes to.
	screen *Screen
}

// Forms are what --output takes.
func Forms() []string { return []string{"table", "wide", "json", "yaml", "name"} }

// Register adds --output.
func (o *Output) Register(flags *pflag.FlagSet) {
	o.Format = "table"
	flags.VarP(&choiceValue{value: &o.Format, choices: Forms()}, "output", "o",
		"form of the output: wide has all columns, and values whole; name is what other commands take")
}

// ForPeople says that the output is read by people: a table or words.
func (o *Output) ForPeople() bool { return o.Format == "table" || o.Format == "wide" }

// Document says that the output is the value itself, as JSON or YAML.
func (o *Output) Document() bool { return o.Format == "json" || o.Format == "yaml" }

// Screen is what is known of who reads w.
func (o *Output) Screen(w io.Writer) Screen {
	if o.screen != nil {
		return *o.screen
	}
	return ScreenOf(w, o.Lookup)
}

// Write shows value as JSON or YAML, or t as a table or its names.
func (o *Output) Write(cmd *cobra.Command, value any, t Table) error {
	if o.ForPeople() && len(t.Rows) == 0 && t.None != "" {
		if err := said(fmt.Fprintln(cmd.ErrOrStderr(), printableLines(t.None))); err != nil {
			return err
		}
		if t.Note == "" {
			return nil
		}
	}
	return o.write(cmd.OutOrStdout(), value, t)
}

func (o *Output) write(w io.Writer, value any, t Table) error {
	switch o.Format {
	case "json":
		return said(0, writeJSON(w, value))
	case "yaml":
		return said(0, writeYAML(w, value))
	case "name":
		var names strings.Builder
		for _, name := range t.names() {
			names.WriteString(Printable(name) + "\n")
		}
		return said(io.WriteString(w, names.String()))
	}
	var text strings.Builder
	if len(t.Rows) > 0 || t.None == "" {
		for _, line := range t.lines(o.Screen(w), o.Format == "wide") {
			text.WriteString(line + "\n")
		}
	}
	if t.Note != "" {
		text.WriteString(Printable(t.Note) + "\n")
	}
	return said(io.WriteString(w, text.String()))
}

// WriteParts writes the tables that have rows, with an empty line between them.
func (o *Output) WriteParts(w io.Writer, parts ...Table) error {
	written := false
	for _, part := range parts {
		if len(part.Rows) == 0 {
			continue
		}
		if written {
			if _, err := fmt.Fprintln(w); err != nil {
				return said(0, err)
			}
		}
		written = true
		if err := o.write(w, nil, part); err != nil {
			return err
		}
	}
	return nil
}

// said puts the error of a write into words.
func said(_ int, err error) error {
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(escaped{w, jsonEscape})
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// escaped writes a document with whatever is not printable in the document's own escapes: it means the same, and a terminal
// shows it instead of obeying.
type escaped struct {
	to     io.Writer
	escape func(r rune) string
}

func (e escaped) Write(document []byte) (int, error) {
	var safe bytes.Buffer
	for _, r := range string(document) { // what is not printable stands in strings only
		if r == '\n' || unicode.IsPrint(r) {
			safe.WriteRune(r)
		} else {
			safe.WriteString(e.escape(r))
		}
	}
	if _, err := e.to.Write(safe.Bytes()); err != nil {
		return 0, err
	}
	return len(document), nil
}

func jsonEscape(r rune) string {
	if r > 0xFFFF {
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
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

// For has the output written for a screen although it goes somewhere else first; nil: for whatever it goes to.
func (o *Output) For(screen *Screen) { o.screen = screen }
