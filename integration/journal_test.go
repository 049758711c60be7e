package integration_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// entry is a line of a process's log.
type entry struct {
	Time      time.Time `json:"time"`
	Message   string    `json:"message"`
	ReplicaID string    `json:"replica_id"`
	Addr      string    `json:"addr"`
	Count     int       `json:"count"`
	text      string
}

// journal is what a process has written to its log so far.
type journal struct {
	mu      sync.Mutex
	entries []entry
}

// follow reads the log until its end.
func (j *journal) follow(log io.Reader) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e := entry{text: lines.Text()}
		_ = json.Unmarshal(lines.Bytes(), &e) // an error's text is no JSON
		j.mu.Lock()
		j.entries = append(j.entries, e)
		j.mu.Unlock()
	}
}

// find returns the entries with this message.
func (j *journal) find(message string) []entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []entry
	for _, e := range j.entries {
		if e.Message == message {
			found = append(found, e)
		}
	}
	return found
}

// await waits for the n-th entry with this message, the first is 1.
func (j *journal) await(t *testing.T, n int, message string) entry {
	t.Helper()
	var found []entry
	eventually(t, patience, "log line "+message, func() bool {
		found = j.find(message)
		return len(found) >= n
	})
	return found[n-1]
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var b strings.Builder
	for _, e := range j.entries {
		b.WriteString(e.text + "\n")
	}
	return b.String()
}

// tail is the end of the log, for a test that failed.
func (j *journal) tail() string {
	lines := strings.SplitAfter(j.text(), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "")
}
