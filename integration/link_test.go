package integration_test

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rowrun/rowrun/integration/wire"
)

// link is one connection through a proxy. It knows the protocol as far as it needs the borders of messages, the names
// of statements, and which answer belongs to which of them.
type link struct {
	proxy          *proxy
	client, server net.Conn

	hole    atomic.Bool  // swallow every byte, both ways, and close nothing
	dropped atomic.Int64 // bytes swallowed

	mu         sync.Mutex
	app        string            // application_name
	statements map[string]string // prepared statement → label
	current    []string          // labels of what was executed since the last Sync
	pending    [][]string        // labels of each Sync whose answer is still to come
}

func (l *link) name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.app
}

func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// over ends the link where one side has; a black hole hides that from the other.
func (l *link) over() {
	if !l.hole.Load() {
		l.close()
	}
}

// requests forwards what the client says.
func (l *link) requests(from *bufio.Reader) {
	defer l.over()
	for first := true; ; first = false {
		message, err := wire.ReadMessage(from, first)
		if err != nil {
			return
		}
		if l.hole.Load() {
			l.dropped.Add(int64(len(message)))
			continue
		}
		if first {
			l.startup(message)
		} else if l.proxy.plan != nil {
			if message[0] == 'S' && l.proxy.plan.loses(l.current, true) {
				return
			}
			l.note(message)
		}
		if _, err := l.server.Write(message); err != nil {
			return
		}
	}
}

// answers forwards what the server says.
func (l *link) answers(from *bufio.Reader) {
	defer l.over()
	var held []byte // the answer up to now, while it may still be lost
	for {
		message, err := wire.ReadMessage(from, false)
		if err != nil {
			return
		}
		if message[0] == 'A' {
			if who := l.proxy.withhold.Load(); who != nil && (*who == "*" || *who == l.name()) {
				l.proxy.withheld.Add(1)
				continue
			}
		}
		if l.hole.Load() {
			l.dropped.Add(int64(len(message)))
			continue
		}
		if l.proxy.plan != nil {
			held = append(held, message...)
			labels, waiting := l.answered(message[0])
			if waiting {
				continue
			}
			if l.proxy.plan.loses(labels, false) {
				return
			}
			message, held = held, nil
		}
		if _, err := l.client.Write(message); err != nil {
			return
		}
	}
}

// answered says whether an answer is still incomplete, and what it answers once it is complete.
func (l *link) answered(kind byte) (labels []string, waiting bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		return nil, false
	}
	if kind != 'Z' { // ReadyForQuery
		return nil, true
	}
	labels, l.pending = l.pending[0], l.pending[1:]
	return labels, false
}

func (l *link) startup(message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(message) < 9 {
		return
	}
	parameters := strings.Split(string(message[8:]), "\x00")
	for i := 0; i+1 < len(parameters); i += 2 {
		if parameters[i] == "application_name" {
			l.app = parameters[i+1]
		}
	}
}

// note remembers what is executed. A label is the name in a statement's first line.
func (l *link) note(message []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	body := message[5:]
	switch message[0] {
	case 'P': // Parse: name, text
		name, rest, _ := bytes.Cut(body, []byte{0})
		text, _, _ := bytes.Cut(rest, []byte{0})
		l.statements[string(name)] = label(string(text))
	case 'B': // Bind: portal, name
		_, rest, _ := bytes.Cut(body, []byte{0})
		name, _, _ := bytes.Cut(rest, []byte{0})
		l.current = append(l.current, l.statements[string(name)])
	case 'Q':
		text, _, _ := bytes.Cut(body, []byte{0})
		l.pending = append(l.pending, []string{label(string(text))})
	case 'S':
		l.pending, l.current = append(l.pending, l.current), nil
	}
}

func label(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimPrefix(line, "-- ")
}
