package httpexec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
)

const (
	// headerState carries a recurring task's state both ways: to the app, and in its answer the one for the next run.
	headerState = "Rowrun-State"
	// maxState is what a header of that kind may have; apps read a larger state from rowrun.task.
	maxState = 8 << 10
)

// stateHeader is the payload's state as JSON in ASCII, "" for none or one that is too large for a header.
func stateHeader(payload json.RawMessage) string {
	if !bytes.Contains(payload, []byte(`"state"`)) {
		return "" // most payloads: not parsed once more
	}
	var fields map[string]json.RawMessage
	var compact bytes.Buffer
	if json.Unmarshal(payload, &fields) != nil || len(fields["state"]) == 0 || json.Compact(&compact, fields["state"]) != nil {
		return ""
	}
	var ascii strings.Builder
	for _, r := range compact.String() {
		switch {
		case r < 0x7F: // DEL is no byte of a header's
			ascii.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		}
	}
	if ascii.Len() > maxState {
		return ""
	}
	return ascii.String()
}
