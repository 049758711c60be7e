package commands

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

// maxDocument is what the database takes of one document; a larger file is the wrong one.
const maxDocument = 1 << 20

// readText gives what a flag says: the text itself, the content of a file (@FILE), or standard input (-).
func readText(cmd *cobra.Command, flag, given string) (string, error) {
	var from io.Reader
	switch path, isFile := strings.CutPrefix(given, "@"); {
	case given == "-":
		from = cmd.InOrStdin()
	case isFile:
		file, err := os.Open(path)
		if err != nil {
			return "", cli.Usagef("%s: %w", flag, err)
		}
		defer func() { _ = file.Close() }()
		from = file
	default:
		return given, nil
	}
	content, err := io.ReadAll(io.LimitReader(from, maxDocument+1))
	if err != nil {
		return "", cli.Usagef("%s: %w", flag, err)
	}
	if len(content) > maxDocument {
		return "", cli.Usagef("%s: %s has more than %d bytes, which the database doesn't take", flag, given, maxDocument)
	}
	return string(content), nil
}

// readDocument is readText for a JSON object; "" is an empty one.
func readDocument(cmd *cobra.Command, flag, given string) (json.RawMessage, error) {
	text, err := readText(cmd, flag, given)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}"), nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, cli.Usagef(`%s: %s; accepted: a JSON object such as {"to": "ann"}, @FILE, or - for standard input`, flag, whyNoObject(text, err))
	}
	return json.RawMessage(text), nil
}

func whyNoObject(text string, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return "what is given is JSON, and no object"
	}
	before := []byte(text)[:min(int(syntax.Offset), len(text))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("what is given is no JSON, line %d column %d: %s", line, max(column, 1), syntax)
}

// parseAt reads a moment: one of the calendar, or so long from now.
func parseAt(flag, text string) (at *time.Time, delay time.Duration, err error) {
	if text == "" || text == "now" {
		return nil, 0, nil
	}
	if d, err := time.ParseDuration(strings.TrimPrefix(text, "+")); err == nil && d >= 0 {
		return nil, d, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return &t, 0, nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return &t, 0, nil
		}
	}
	return nil, 0, cli.Usagef(`%s: %q is not accepted; accepted: 10m (from now), "2026-11-23 18:00" (this machine's zone), 2026-11-23T18:00:00Z`, flag, text)
}
