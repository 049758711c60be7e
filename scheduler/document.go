package scheduler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxDocument = 1 << 20 // what the tables take
	maxDetail   = 64 << 10
)

// document marshals what an executor hands over into a JSON object that PostgreSQL's jsonb takes: no NUL, no lone
// surrogates, at most 1 MiB.
func document(v any) (doc json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil { // what marshals itself is the executor's code
			doc, err = nil, errors.New("not a JSON document: it panicked: "+inWords(p))
		}
	}()
	if v == nil {
		return json.RawMessage("{}"), nil
	}
	b, err := marshal(v)
	if err != nil {
		return nil, fmt.Errorf("not a JSON document: %w", err)
	}
	if string(b) == "null" { // a nil map or pointer
		return json.RawMessage("{}"), nil
	}
	if bytes.Contains(b, []byte(`\u`)) {
		// Decoding and encoding again turns lone surrogates into U+FFFD; then NULs go.
		var any any
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if err := d.Decode(&any); err != nil {
			return nil, fmt.Errorf("not a JSON document: %w", err)
		}
		if b, err = marshal(withoutNUL(any)); err != nil {
			return nil, fmt.Errorf("not a JSON document: %w", err)
		}
	}
	if len(b) == 0 || b[0] != '{' {
		return nil, fmt.Errorf("a JSON object is needed, not %s", cut(string(b), 40))
	}
	if len(b) > maxDocument/2 && stored(b) > maxDocument {
		return nil, fmt.Errorf("%d bytes are too many, at most 1 MiB is stored", stored(b))
	}
	return b, nil
}

// marshal leaves <, > and & as they are: escaped they would count six times as much as the database stores.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// stored is how long a document is as the server prints it, with a space behind each colon and comma. What it makes of numbers
// only the server knows.
func stored(b []byte) int {
	size, quoted := len(b), false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ':' || c == ','):
			size++
		}
	}
	return size
}

func withoutNUL(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "\x00", "\uFFFD")
	case []any:
		for i := range v {
			v[i] = withoutNUL(v[i])
		}
		return v
	case map[string]any:
		clean := make(map[string]any, len(v))
		for k, e := range v {
			clean[strings.ReplaceAll(k, "\x00", "\uFFFD")] = withoutNUL(e)
		}
		return clean
	}
	return v
}

// cut shortens text to at most n bytes, at a character's border.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
