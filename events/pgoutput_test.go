package events_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
)

// wal builds messages as the server does.
type wal []byte

func message(kind byte) wal { return wal{kind} }

func (w wal) u8(b byte) wal      { return append(w, b) }
func (w wal) u16(n uint16) wal   { return binary.BigEndian.AppendUint16(w, n) }
func (w wal) u32(n uint32) wal   { return binary.BigEndian.AppendUint32(w, n) }
func (w wal) u64(n uint64) wal   { return binary.BigEndian.AppendUint64(w, n) }
func (w wal) text(s string) wal  { return append(append(w, s...), 0) }
func (w wal) value(s string) wal { return append(w.u8('t').u32(uint32(len(s))), s...) } //nolint:gosec // short
func relation(names ...string) wal {
	w := message('R').u32(7).text("rowrun").text("task_run").u8('d').u16(uint16(len(names))) //nolint:gosec // few
	for _, name := range names {
		w = w.u8(0).text(name).u32(25).u32(0)
	}
	return w
}

func TestDecodesATransaction(t *testing.T) {
	t.Parallel()
	var d events.Decoder
	at := time.Date(2026, 11, 21, 9, 0, 0, 123456000, time.UTC)
	micros := uint64(at.UnixMicro() - 946684800*1000000)
	decode := func(w wal) events.Message {
		m, err := d.Decode(w)
		require.NoError(t, err)
		return m
	}
	m := decode(message('B').u64(0x16B3748).u64(micros).u32(9))
	require.Equal(t, events.Begin, m.Kind)
	require.Equal(t, "0/16B3748", m.LSN.String())
	require.True(t, at.Equal(m.Time))

	require.Equal(t, events.Other, decode(relation("id", "status", "result")).Kind)
	insert := decode(message('I').u32(7).u8('N').u16(3).value("1").value("PENDING").u8('n'))
	require.Equal(t, events.Change, insert.Kind)
	require.True(t, insert.Row.Inserted)
	require.Equal(t, []events.Value{{Kind: events.Text, Text: "1"}, {Kind: events.Text, Text: "PENDING"}, {Kind: events.Null}}, insert.Row.Values)
	require.Equal(t, 1, insert.Row.Relation.Index("status"))
	require.Equal(t, -1, insert.Row.Relation.Index("other"))

	// With the key or the whole old row before the new one; a value that is stored apart and untouched.
	for _, old := range []byte{'K', 'O'} {
		update := decode(message('U').u32(7).u8(old).u16(1).value("1").u8('N').u16(3).value("1").value("DONE").u8('u'))
		require.False(t, update.Row.Inserted)
		require.Equal(t, events.Unchanged, update.Row.Values[2].Kind)
	}
	for _, kind := range []byte("DTOYM") {
		require.Equal(t, events.Other, decode(message(kind).u32(7)).Kind)
	}
	m = decode(message('C').u8(0).u64(0x16B3748).u64(0x16B3778).u64(micros))
	require.Equal(t, events.Commit, m.Kind)
	require.Equal(t, events.LSN(0x16B3778), m.End)
}

func TestRefusesWhatIsNotPgoutput(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]wal{
		"empty":              {},
		"unknown type":       message('?'),
		"too short":          message('B').u64(1),
		"too long":           message('B').u64(1).u64(1).u32(1).u8(0),
		"unknown table":      message('I').u32(8).u8('N').u16(0),
		"no new row":         message('I').u32(7).u8('X').u16(0),
		"number of columns":  message('I').u32(7).u8('N').u16(2).u8('n').u8('n'),
		"form of a value":    message('I').u32(7).u8('N').u16(1).u8('b').u32(0),
		"length of a value":  message('I').u32(7).u8('N').u16(1).u8('t').u32(1 << 31),
		"more than there is": message('I').u32(7).u8('N').u16(65535).u8('n'),
		"name without end":   append(message('R').u32(1), "rowrun"...),
	} {
		var d events.Decoder
		_, err := d.Decode(relation("id"))
		require.NoError(t, err)
		_, err = d.Decode(w)
		require.ErrorIs(t, err, events.ErrPgoutput, name)
	}
}

func TestLSNIsWrittenAsTheServerDoes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF"} {
		lsn, err := events.ParseLSN(text)
		require.NoError(t, err)
		require.Equal(t, text, lsn.String())
	}
	for _, text := range []string{"", "1", "/", "0/1/2", "x/1", "1/100000000", "-1/1", "0/ 1"} {
		_, err := events.ParseLSN(text)
		require.ErrorIs(t, err, events.ErrLSN, text)
	}
}

// No message, however broken, does more than be refused; what is accepted has the form that was described.
func FuzzPgoutput(f *testing.F) {
	for _, w := range []wal{
		message('B').u64(1).u64(2).u32(3),
		message('C').u8(0).u64(1).u64(2).u64(3),
		relation("id", "status"),
		message('I').u32(7).u8('N').u16(2).value("1").u8('n'),
		message('U').u32(7).u8('K').u16(1).value("1").u8('N').u16(2).value("1").u8('u'),
		message('D').u32(7),
	} {
		f.Add([]byte(w))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var d events.Decoder
		_, err := d.Decode(relation("id", "status"))
		require.NoError(t, err)
		m, err := d.Decode(data)
		if err != nil {
			require.ErrorIs(t, err, events.ErrPgoutput)
			require.Zero(t, m)
			return
		}
		if m.Kind == events.Change {
			require.Len(t, m.Row.Values, len(m.Row.Relation.Columns))
			for _, v := range m.Row.Values {
				require.Contains(t, []events.ValueKind{events.Null, events.Unchanged, events.Text}, v.Kind)
				require.LessOrEqual(t, len(v.Text), len(data))
			}
		}
	})
}
