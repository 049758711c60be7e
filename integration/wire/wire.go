// Package wire knows the borders of messages in PostgreSQL's protocol, for proxies of tests.
package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// ReadMessage reads one message: a type byte (not in the first one of a client), a length that counts itself, the rest.
func ReadMessage(from *bufio.Reader, first bool) ([]byte, error) {
	header := 5
	if first {
		header = 4
	}
	message := make([]byte, header)
	if _, err := io.ReadFull(from, message); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(message[header-4:])) + header - 4
	if length < header || length > 64<<20 {
		return nil, errors.New("not a message")
	}
	message = append(message, make([]byte, length-header)...)
	_, err := io.ReadFull(from, message[header:])
	return message, err
}
