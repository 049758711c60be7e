package storetest

import (
	"bytes"
	"sync"
)

// Log is what a server writes, read while it is written: for embeddedpg.Config.Log. The zero value is empty.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the log. It never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// From is what was written behind the first n bytes, which must have been.
func (l *Log) From(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text.Bytes()[n:])
}

// Len is how many bytes were written.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Len()
}
