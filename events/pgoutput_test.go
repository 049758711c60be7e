package events_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pglogrepl"
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
	decode := func(w wal) any {
		m, err := d.Decode(w)
		require.NoError(t, err)
		return m
	}
	row := func(w wal) *events.Row {
		r, ok := decode(w).(*events.Row)
		require.True(t, ok)
		return r
	}
	begin, ok := decode(message('B').u64(0x16B3748).u64(micros).u32(9)).(*pglogrepl.BeginMessage)
	require.True(t, ok)
	require.Equal(t, "0/16B3748", begin.FinalLSN.String())
	require.True(t, at.Equal(begin.CommitTime))

	require.Nil(t, decode(relation("id", "status", "result")))
	insert := row(message('I').u32(7).u8('N').u16(3).value("1").value("PENDING").u8('n'))
	require.True(t, insert.Inserted)
	require.Equal(t, "1", string(insert.Values[0].Data))
	require.Equal(t, "PENDING", string(insert.Values[1].Data))
	require.Equal(t, []uint8{events.Text, events.Text, events.Null},
		[]uint8{insert.Values[0].DataType, insert.Values[1].DataType, insert.Values[2].DataType})
	require.Equal(t, 1, insert.Relation.Index("status"))
	require.Equal(t, -1, insert.Relation.Index("other"))

	// With the key or the whole old row before the new one; a value that is stored apart and untouched.
	for _, old := range []byte{'K', 'O'} {
		update := row(message('U').u32(7).u8(old).u16(1).value("1").u8('N').u16(3).value("1").value("DONE").u8('u'))
		require.False(t, update.Inserted)
		require.Equal(t, "DONE", string(update.Values[1].Data))
		require.Equal(t, events.Unchanged, update.Values[2].DataType)
	}
	for _, kind := range []byte("DTOYM") {
		require.Nil(t, decode(message(kind).u32(7)))
	}
	commit, ok := decode(message('C').u8(0).u64(0x16B3748).u64(0x16B3778).u64(micros)).(*pglogrepl.CommitMessage)
	require.True(t, ok)
	require.Equal(t, events.LSN(0x16B3778), commit.TransactionEndLSN)
}

func TestRefusesWhatIsNotPgoutput(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]wal{
		"empty":              {},
		"unknown type":       message('?'),
		"too short":          message('B').u64(1),
		"too long":           message('I').u32(7).u8('N').u16(1).u8('n').u8(0),
		"secret in an error": message('I').u32(7).u8('#').u16(1).u8('n'),
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
		require.NotContains(t, err.Error(), "#", name)
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
			require.Nil(t, m)
			return
		}
		if row, ok := m.(*events.Row); ok {
			require.Len(t, row.Values, len(row.Relation.Columns))
			for _, v := range row.Values {
				require.Contains(t, []uint8{events.Null, events.Unchanged, events.Text}, v.DataType)
				require.LessOrEqual(t, len(v.Data), len(data))
			}
		}
	})
}

// BenchmarkDecode reads a row of as many columns as the stream needs.
func BenchmarkDecode(b *testing.B) {
	names := strings.Fields("id task_id attempt retry_of root_id status plan_id type queue database_id version replica_id " +
		"created_at available_at started_at finished_at result prev_status retry_run_id")
	var d events.Decoder
	_, err := d.Decode(relation(names...))
	require.NoError(b, err)
	w := message('U').u32(7).u8('N').u16(uint16(len(names))) //nolint:gosec // few
	for range names {
		w = w.value("2026-11-21 09:00:00.12345+00")
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(w)))
	for b.Loop() {
		if _, err := d.Decode(w); err != nil {
			b.Fatal(err)
		}
	}
}
