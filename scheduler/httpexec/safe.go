package httpexec

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// What jsonb or the tables refuse and an app may well send: NUL, invalid UTF-8,
// halves of surrogate pairs, numbers beyond numeric, a thousand levels.

const (
	replacement = "\uFFFD"

	// jsonb writes numbers out: 1e300 takes 301 digits there. All of an answer
	// take at most this many, which is also far inside what numeric holds.
	maxDigits = 128 << 10
	maxNumber = 1000

	// A result has at most 1,000 levels, values that hold nothing included: one
	// is the result's own.
	maxLevels = 999
)

// safeText makes text that jsonb takes.
func safeText(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), replacement), "\x00", replacement)
}

// safeJSON decodes b into something that marshals to what jsonb takes; false
// where b isn't one JSON value, or has a number or more levels than are stored.
func safeJSON(b []byte) (any, bool) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, false
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, false
	}
	digits := maxDigits
	return safeValue(v, maxLevels, &digits)
}

// safeValue cleans v and takes what its numbers need off digits; false where one
// is too long, or where digits or levels don't suffice.
func safeValue(v any, levels int, digits *int) (any, bool) {
	if levels == 0 {
		return nil, false
	}
	switch v := v.(type) {
	case string: // the decoder has already replaced what isn't UTF-8
		return strings.ReplaceAll(v, "\x00", replacement), true
	case json.Number:
		n := writtenOut(v.String())
		*digits -= n
		return v, n <= maxNumber && *digits >= 0
	case []any:
		for i := range v {
			var ok bool
			if v[i], ok = safeValue(v[i], levels-1, digits); !ok {
				return nil, false
			}
		}
		return v, true
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, value := range v {
			value, ok := safeValue(value, levels-1, digits)
			if !ok {
				return nil, false
			}
			clean[strings.ReplaceAll(key, "\x00", replacement)] = value
		}
		return clean, true
	}
	return v, true
}

// writtenOut is at least the length of a JSON number without its exponent.
func writtenOut(s string) int {
	mantissa, exp, found := strings.Cut(strings.ToLower(s), "e")
	if !found {
		return len(s)
	}
	n, err := strconv.Atoi(exp)
	if err != nil || n < -maxNumber || n > maxNumber {
		return maxNumber + 1
	}
	return len(mantissa) + max(n, -n)
}

// head is the first n bytes of b.
func head(b []byte, n int) []byte { return b[:min(n, len(b))] }
