//go:build linux

package cmdexec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowrun/rowrun/scheduler"
)

// argument is one element of a command's args: literal text and placeholders.
type argument struct {
	pieces      []piece
	afterDashes bool // an earlier element is "--": it can't be an option
}

// piece is literal text, or a placeholder where name isn't "".
type piece struct{ text, name string }

func parseArgument(s string) (argument, error) {
	var (
		arg     argument
		literal strings.Builder
	)
	flush := func() {
		if literal.Len() > 0 {
			arg.pieces = append(arg.pieces, piece{text: literal.String()})
			literal.Reset()
		}
	}
	if strings.ContainsRune(s, 0) {
		return arg, errors.New("has a NUL")
	}
	for s != "" {
		switch {
		case strings.HasPrefix(s, "{{"), strings.HasPrefix(s, "}}"):
			literal.WriteByte(s[0])
			s = s[2:]
		case s[0] == '{':
			name, rest, closed := strings.Cut(s[1:], "}")
			if !closed || !isName(name) {
				return arg, errors.New("want {name} of letters, digits and _, or {{ for a brace")
			}
			flush()
			arg.pieces = append(arg.pieces, piece{name: name})
			s = rest
		case s[0] == '}':
			return arg, errors.New("a } without {, or want }} for a brace")
		default:
			literal.WriteByte(s[0])
			s = s[1:]
		}
	}
	flush()
	return arg, nil
}

// valueType is what a placeholder takes.
type valueType struct {
	kind   string
	values []string // of an enum
}

func parseType(s string) (valueType, error) {
	switch s {
	case "string", "int", "number", "bool", "date", "timestamp", "uuid":
		return valueType{kind: s}, nil
	}
	if list, ok := strings.CutPrefix(s, "enum:"); ok {
		values := strings.Split(list, "|")
		if !slices.Contains(values, "") && !strings.ContainsRune(list, 0) {
			return valueType{kind: "enum", values: values}, nil
		}
	}
	return valueType{}, fmt.Errorf("%q: want string, int, number, bool, date, timestamp, uuid or enum:a|b|c", s)
}

// text checks one JSON value and returns what stands in the argument. Numbers
// and booleans go on as they are written; the error says what was wanted.
func (t valueType) text(raw json.RawMessage) (string, error) {
	switch t.kind {
	case "int", "number", "bool":
		return string(raw), t.checkBare(string(raw))
	}
	s, ok := jsonString(raw)
	if !ok {
		return "", errors.New("want a string")
	}
	return s, t.checkString(s)
}

// checkBare checks a value that stands in JSON without quotes.
func (t valueType) checkBare(raw string) error {
	switch t.kind {
	case "int":
		if _, err := strconv.ParseInt(raw, 10, 64); err != nil {
			return errors.New("want an integer of 64 bits")
		}
	case "number":
		if c := raw[0]; c != '-' && (c < '0' || c > '9') {
			return errors.New("want a number")
		}
	case "bool":
		if raw != "true" && raw != "false" {
			return errors.New("want true or false")
		}
	}
	return nil
}

// checkString checks a value that was a string in JSON.
func (t valueType) checkString(s string) error {
	switch t.kind {
	case "string":
		if strings.ContainsRune(s, 0) {
			return errors.New("a NUL can't stand in an argument")
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return errors.New("want a date as 2006-01-02")
		}
	case "timestamp":
		// Parse also takes an hour of one digit and a comma before the fraction.
		if _, err := time.Parse(time.RFC3339, s); err != nil || s[13] != ':' || strings.ContainsRune(s, ',') {
			return errors.New("want a time as 2006-01-02T15:04:05Z (RFC 3339)")
		}
	case "uuid":
		if !isUUID(s) {
			return errors.New("want a UUID as 00000000-0000-0000-0000-000000000000")
		}
	case "enum":
		if !slices.Contains(t.values, s) {
			return fmt.Errorf("want one of %s", strings.Join(t.values, ", "))
		}
	}
	return nil
}

func isUUID(s string) bool {
	for i, r := range s {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if r != '-' {
				return false
			}
		} else if !strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return false
		}
	}
	return len(s) == 36
}

// argv fills the placeholders from the payload's args.
func (c *command) argv(raw json.RawMessage) ([]string, error) {
	given := map[string]json.RawMessage{}
	if raw != nil {
		if err := json.Unmarshal(raw, &given); err != nil || given == nil {
			return nil, scheduler.BadInput("args must be an object")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := c.types[name]; !known {
			return nil, scheduler.BadInput("args.%s: the command has no such argument", name)
		}
	}
	values := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.types)) {
		raw, ok := given[name]
		if !ok {
			return nil, scheduler.BadInput("args.%s is missing", name)
		}
		value, err := c.types[name].text(raw)
		if err != nil {
			return nil, scheduler.BadInput("args.%s: %v", name, err)
		}
		values[name] = value
	}
	argv := []string{c.path}
	for _, arg := range c.args {
		text, err := c.fill(arg, values)
		if err != nil {
			return nil, err
		}
		argv = append(argv, text)
	}
	return argv, nil
}

// fill makes one argument. A string that would turn it into an option is
// refused: the author of a command says with a "--" before it that this can't be.
func (c *command) fill(arg argument, values map[string]string) (string, error) {
	var b strings.Builder
	for _, p := range arg.pieces {
		text := p.text
		if p.name != "" {
			text = values[p.name]
			if b.Len() == 0 && !arg.afterDashes && c.types[p.name].kind == "string" && strings.HasPrefix(text, "-") {
				return "", scheduler.BadInput(`args.%s: starts with "-" and could be taken for an option`, p.name)
			}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// jsonString reads raw only where it is a string: json.Unmarshal takes null for one.
func jsonString(raw json.RawMessage) (string, bool) {
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", false
	}
	return *s, true
}
