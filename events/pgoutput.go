package events

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrPgoutput is what errors of Decoder.Decode match: a message is not as the
// protocol says. Its text never contains any of the message.
var ErrPgoutput = errors.New("undecodable replication message")

// Relation is a table as a decoder was told of it.
type Relation struct {
	Namespace, Name string
	// Columns are those that are published, in their order.
	Columns []string
}

// Index is the place of a column; -1 where it isn't published.
func (r *Relation) Index(column string) int {
	for i, name := range r.Columns {
		if name == column {
			return i
		}
	}
	return -1
}

// ValueKind says what is known of a value.
type ValueKind byte

const (
	// Null is SQL's NULL.
	Null ValueKind = 'n'
	// Unchanged stands for a large value that is stored apart and was not touched: it is not in the log.
	Unchanged ValueKind = 'u'
	// Text is a value in the server's text form.
	Text ValueKind = 't'
)

// Value is one column of a row.
type Value struct {
	Kind ValueKind
	Text string // "" but for Text
}

// Row is a row after an INSERT or UPDATE.
type Row struct {
	Relation *Relation
	Inserted bool
	Values   []Value // one for each of the relation's columns
}

// MessageKind says what a message is.
type MessageKind byte

const (
	// Other is a message that concerns no row, such as the description of a table.
	Other MessageKind = iota
	// Begin opens a transaction; it has LSN and Time.
	Begin
	// Commit ends it; it has LSN, End and Time.
	Commit
	// Change is a Row.
	Change
)

// Message is one decoded message.
type Message struct {
	Kind MessageKind
	LSN  LSN       // where the transaction's commit stands
	End  LSN       // the place behind it
	Time time.Time // of the commit, by the server's clock
	Row  Row
}

// Decoder reads pgoutput's messages, protocol version 1, text values. It knows
// nothing of connections. The zero value is ready; it is for one connection.
type Decoder struct {
	relations map[uint32]*Relation
}

// Decode reads one message. The message keeps nothing of data.
func (d *Decoder) Decode(data []byte) (Message, error) {
	if len(data) == 0 {
		return Message{}, fmt.Errorf("%w: empty", ErrPgoutput)
	}
	// One copy for all texts of the message.
	r := &wireReader{rest: string(data[1:])}
	var m Message
	switch data[0] {
	case 'B':
		m = Message{Kind: Begin, LSN: LSN(r.uint64()), Time: r.time()}
		r.uint32() // the transaction's number
	case 'C':
		r.byte() // flags, none of which is in use
		m = Message{Kind: Commit, LSN: LSN(r.uint64()), End: LSN(r.uint64()), Time: r.time()}
	case 'R':
		d.relation(r)
	case 'I', 'U':
		m = d.change(r, data[0] == 'I')
	case 'D', 'T', 'O', 'Y', 'M':
		return Message{}, nil
	default:
		return Message{}, fmt.Errorf("%w: type %q", ErrPgoutput, data[0])
	}
	if r.failed == "" && r.rest != "" {
		r.fail("too long")
	}
	if r.failed != "" {
		return Message{}, fmt.Errorf("%w: type %q: %s", ErrPgoutput, data[0], r.failed)
	}
	return m, nil
}

func (d *Decoder) relation(r *wireReader) {
	id := r.uint32()
	rel := &Relation{Namespace: strings.Clone(r.cstring()), Name: strings.Clone(r.cstring())}
	r.byte() // replica identity
	for range r.count() {
		r.byte() // whether it is part of the key
		rel.Columns = append(rel.Columns, strings.Clone(r.cstring()))
		r.uint32() // its type
		r.uint32() // and modifier
		if r.failed != "" {
			return
		}
	}
	if r.failed != "" {
		return
	}
	if d.relations == nil {
		d.relations = map[uint32]*Relation{}
	}
	d.relations[id] = rel
}

func (d *Decoder) change(r *wireReader, inserted bool) Message {
	rel := d.relations[r.uint32()]
	if rel == nil && r.failed == "" {
		r.fail("a table that was not described")
	}
	if r.failed != "" {
		return Message{}
	}
	tag := r.byte()
	if !inserted && (tag == 'K' || tag == 'O') {
		r.tuple()
		tag = r.byte()
	}
	if r.failed == "" && tag != 'N' {
		r.fail("no new row")
	}
	values := r.tuple()
	if r.failed == "" && len(values) != len(rel.Columns) {
		r.fail("another number of columns than was described")
	}
	return Message{Kind: Change, Row: Row{Relation: rel, Inserted: inserted, Values: values}}
}

// wireReader takes a message apart. After the first failure it gives zeros.
type wireReader struct {
	rest   string
	failed string
}

func (r *wireReader) fail(why string) { r.failed, r.rest = why, "" }

func (r *wireReader) take(n int) string {
	if r.failed != "" || n < 0 || n > len(r.rest) {
		if r.failed == "" {
			r.fail("too short")
		}
		return ""
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *wireReader) byte() byte {
	if b := r.take(1); b != "" {
		return b[0]
	}
	return 0
}

func (r *wireReader) uint32() uint32 {
	var b [4]byte
	copy(b[:], r.take(4))
	return binary.BigEndian.Uint32(b[:])
}

func (r *wireReader) uint64() uint64 {
	var b [8]byte
	copy(b[:], r.take(8))
	return binary.BigEndian.Uint64(b[:])
}

// count is a number of columns.
func (r *wireReader) count() int {
	var b [2]byte
	copy(b[:], r.take(2))
	return int(binary.BigEndian.Uint16(b[:]))
}

func (r *wireReader) cstring() string {
	i := strings.IndexByte(r.rest, 0)
	if i < 0 {
		if r.failed == "" {
			r.fail("text without an end")
		}
		return ""
	}
	return r.take(i + 1)[:i]
}

func (r *wireReader) time() time.Time { return fromServerTime(int64(r.uint64())) } //nolint:gosec // signed on the wire

func (r *wireReader) tuple() []Value {
	n := r.count()
	if r.failed != "" || n > len(r.rest) { // each column takes a byte at least
		if r.failed == "" {
			r.fail("too short")
		}
		return nil
	}
	values := make([]Value, n)
	for i := range values {
		switch kind := ValueKind(r.byte()); kind {
		case Null, Unchanged:
			values[i].Kind = kind
		case Text:
			values[i] = Value{Kind: Text, Text: r.take(int(int32(r.uint32())))} //nolint:gosec // signed on the wire
		default:
			if r.failed == "" {
				r.fail("a value of unknown form")
			}
			return nil
		}
	}
	return values
}

// serverEpoch is 2000-01-01 UTC in microseconds of Unix time: the server counts from there.
const serverEpoch = 946684800 * 1000000

func fromServerTime(microseconds int64) time.Time { return time.UnixMicro(serverEpoch + microseconds) }

func toServerTime(t time.Time) int64 { return t.UnixMicro() - serverEpoch }
