package events

import (
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pglogrepl"
)

// LSN is a place in the write-ahead log, in bytes from its beginning. Places of
// different timelines can't be compared.
type LSN = pglogrepl.LSN

// errLSN is returned by ParseLSN for text that names no place.
var errLSN = errors.New("not a log sequence number such as 16/B374D848")

// ParseLSN reads PostgreSQL's form: two hexadecimal numbers and a slash. The
// library's function takes 0/1/2 and 1/100000000 for places; people type these.
func ParseLSN(text string) (LSN, error) {
	high, low, ok := strings.Cut(text, "/")
	if !ok {
		return 0, errLSN
	}
	h, err := strconv.ParseUint(high, 16, 32)
	if err != nil {
		return 0, errLSN
	}
	l, err := strconv.ParseUint(low, 16, 32)
	if err != nil {
		return 0, errLSN
	}
	return LSN(h<<32 | l), nil
}
