package integration_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// oracle is a slot of the test's own, opened before everything, with id and status alone: what a transition is, it finds
// out by itself.
type oracle struct {
	d *database
	// atOnce is how many runs went from PENDING to RUNNING in one version of their rows.
	atOnce int
}

func newOracle(t *testing.T, d *database) *oracle {
	t.Helper()
	d.exec(t, "CREATE PUBLICATION oracle FOR TABLE rowrun.task_run (id, status) WITH (publish = 'insert, update')")
	d.exec(t, "SELECT pg_create_logical_replication_slot('oracle', 'pgoutput')")
	return &oracle{d: d}
}

// transitions are all since the slot was made, in the order of their commits: "LSN run from to".
func (o *oracle) transitions(t *testing.T) []string {
	t.Helper()
	changes := list[[]byte](t, o.d, `SELECT data FROM pg_logical_slot_peek_binary_changes('oracle', NULL, NULL,
		'proto_version', '1', 'publication_names', 'oracle')`)
	o.atOnce = 0
	status := map[string]string{}
	var found []string
	var lsn string
	for _, data := range changes {
		switch data[0] {
		case 'B':
			place := binary.BigEndian.Uint64(data[1:])
			lsn = fmt.Sprintf("%X/%X", place>>32, place&0xffffffff)
		case 'I', 'U':
			// No old row with the default identity: the type, the table, N, and how many columns.
			require.Equal(t, byte('N'), data[5])
			texts := data[8:]
			text := func() string {
				require.Equal(t, byte('t'), texts[0])
				n := binary.BigEndian.Uint32(texts[1:])
				s := string(texts[5 : 5+n])
				texts = texts[5+n:]
				return s
			}
			id, to := text(), text()
			from, known := status[id]
			if !known {
				from = "null"
				if to == "AVAILABLE" { // without gates: both are told, of one place
					found = append(found, strings.Join([]string{lsn, id, from, "PENDING"}, " "))
					from = "PENDING"
				}
			}
			if from == "PENDING" && to == "RUNNING" { // one version of the row, two transitions
				found = append(found, strings.Join([]string{lsn, id, from, "AVAILABLE"}, " "))
				from = "AVAILABLE"
				o.atOnce++
			}
			if from != to {
				found = append(found, strings.Join([]string{lsn, id, from, to}, " "))
			}
			status[id] = to
		}
	}
	return found
}
