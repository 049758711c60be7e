package events

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pglogrepl"
)

// errPgoutput is what errors of decoder.Decode match: a message is not as the
// protocol says. Its text never contains any of the message.
var errPgoutput = errors.New("undecodable replication message")

// Relation is a table as a decoder was told of it.
type Relation struct {
	Namespace, Name string
	// Columns are those that are published, in their order.
	Columns []string
}

// Index is the place of a column; -1 where it isn't published.
func (r *Relation) Index(column string) int { return slices.Index(r.Columns, column) }

// Value is one column of a row: what DataType says is known of it, and Data.
type Value = pglogrepl.TupleDataColumn

// The DataTypes of a Value.
const (
	// Null is SQL's NULL.
	Null = pglogrepl.TupleDataTypeNull
	// Unchanged stands for a large value that is stored apart and was not touched: it is not in the log.
	Unchanged = pglogrepl.TupleDataTypeToast
	// Text is a value in the server's text form.
	Text = pglogrepl.TupleDataTypeText
)

// Row is a row after an INSERT or UPDATE.
type Row struct {
	Relation *Relation
	Inserted bool
	Values   []*Value // one for each of the relation's columns
}

// bytes is how much text a row has.
func (r *Row) bytes() int {
	n := 0
	for _, v := range r.Values {
		n += len(v.Data)
	}
	return n
}

// decoder reads pgoutput's messages, protocol version 1, text values. It knows
// nothing of connections. The zero value is ready; it is for one connection.
type decoder struct {
	relations map[uint32]*Relation
}

// decode reads one message: a *pglogrepl.BeginMessage, a *pglogrepl.CommitMessage
// or a *Row; nil for what concerns no row. It keeps nothing of data.
func (d *decoder) decode(data []byte) (any, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: empty", errPgoutput)
	}
	switch pglogrepl.MessageType(data[0]) {
	case pglogrepl.MessageTypeDelete, pglogrepl.MessageTypeTruncate, pglogrepl.MessageTypeOrigin,
		pglogrepl.MessageTypeType, pglogrepl.MessageTypeMessage:
		return nil, nil
	}
	message, err := parse(data)
	if err != nil {
		return nil, err
	}
	switch m := message.(type) {
	case *pglogrepl.RelationMessage:
		d.describe(m)
		return nil, nil
	case *pglogrepl.InsertMessage:
		return d.row(m.RelationID, m.Tuple, true)
	case *pglogrepl.UpdateMessage:
		return d.row(m.RelationID, m.NewTuple, false)
	}
	return message, nil
}

// parse is the library's, but for what it does with bytes that no server sends:
// it reads past their end, which panics, quotes them in its errors, and makes
// room for as much as a length claims, up to 4 GiB.
func parse(data []byte) (m pglogrepl.Message, err error) {
	defer func() {
		if recover() != nil {
			m, err = nil, fmt.Errorf("%w: type %q: too short", errPgoutput, data[0])
		}
	}()
	switch pglogrepl.MessageType(data[0]) {
	case pglogrepl.MessageTypeInsert, pglogrepl.MessageTypeUpdate:
		for rest := data[5:]; len(rest) > 0; {
			rest = afterTuple(rest[1:])
		}
	}
	if m, err = pglogrepl.Parse(data); err != nil {
		return nil, fmt.Errorf("%w: type %q", errPgoutput, data[0])
	}
	return m, nil
}

// afterTuple is what follows a row. It panics where the row claims to be longer than its message.
func afterTuple(data []byte) []byte {
	columns := binary.BigEndian.Uint16(data)
	data = data[2:]
	for range columns {
		kind := data[0]
		data = data[1:]
		if kind == pglogrepl.TupleDataTypeText || kind == pglogrepl.TupleDataTypeBinary {
			data = data[4+int(binary.BigEndian.Uint32(data)):]
		}
	}
	return data
}

func (d *decoder) describe(m *pglogrepl.RelationMessage) {
	relation := &Relation{Namespace: m.Namespace, Name: m.RelationName}
	for _, column := range m.Columns {
		relation.Columns = append(relation.Columns, column.Name)
	}
	if d.relations == nil {
		d.relations = map[uint32]*Relation{}
	}
	d.relations[m.RelationID] = relation
}

// row looks at what the library doesn't: whether the row is of the form that was described.
func (d *decoder) row(relation uint32, tuple *pglogrepl.TupleData, inserted bool) (*Row, error) {
	row := &Row{Relation: d.relations[relation], Inserted: inserted, Values: tuple.Columns}
	switch {
	case row.Relation == nil:
		return nil, fmt.Errorf("%w: a table that was not described", errPgoutput)
	case len(row.Values) != len(row.Relation.Columns):
		return nil, fmt.Errorf("%w: another number of columns than was described", errPgoutput)
	}
	for _, v := range row.Values {
		if v.DataType != Null && v.DataType != Unchanged && v.DataType != Text {
			return nil, fmt.Errorf("%w: a value of unknown form", errPgoutput)
		}
	}
	return row, nil
}
