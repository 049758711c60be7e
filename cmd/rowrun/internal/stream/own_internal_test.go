package stream

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestOwnRowsAreThoseOfClaimsAndOfTheirGoodEnds(t *testing.T) {
	t.Parallel()
	var nobody *Own
	nobody.keep(true)
	require.Nil(t, nobody.row(1, 1))

	o := &Own{}
	claims := []store.Claim{{ID: 1, TaskID: 7, Xid: 10, Replica: "r"}, {ID: 2, Xid: 10}, {ID: 3, Xid: 10}, {ID: 4}}
	o.Claimed(claims)
	require.Nil(t, o.row(1, 1), "nobody reads rows")
	o.keep(true)
	o.Claimed(claims)
	require.Nil(t, o.row(4, 1), "its statement told nothing of it")
	require.Nil(t, o.row(5, 1))
	require.Nil(t, o.row(1, ended), "it hasn't come to that as far as is known")
	require.Equal(t, "RUNNING", o.row(1, 3).Status)
	running := o.row(1, 2)

	at := time.Now()
	o.Ended([]store.Ended{
		{ID: 1, Status: "DONE", FinishedAt: at, Xid: 11},
		{ID: 2, Status: "FAILED", FinishedAt: at, Xid: 11}, // its row has a code and a detail
		{ID: 3, Status: "DONE"},
		{ID: 6, Status: "DONE", FinishedAt: at, Xid: 11},
	})
	require.Equal(t, "RUNNING", running.Status, "what was handed out stays as it was")
	for _, id := range []int64{2, 3, 6} {
		require.Nil(t, o.row(id, 1))
	}
	done := o.row(1, 2)
	require.Equal(t, []any{int64(7), "DONE", "RUNNING", at, uint64(11)}, []any{done.TaskID, done.Status, done.Prev, done.FinishedAt, done.Xid})
	require.Nil(t, o.row(1, 2), "it is given once")

	o.keep(false)
	o.Claimed(claims)
	o.keep(true)
	require.Nil(t, o.row(1, 1))
}

func TestOwnRowsAreBounded(t *testing.T) {
	t.Parallel()
	o := &Own{}
	o.keep(true)
	for id := int64(1); id <= 3*ownMost; id++ {
		o.Claimed([]store.Claim{{ID: id, Xid: 1}})
	}
	require.LessOrEqual(t, len(o.young)+len(o.old), 2*ownMost)
	require.Nil(t, o.row(1, 1))
	require.NotNil(t, o.row(2*ownMost+1, 1), "the last are kept")
}

// The lines of a replica's own claims and ends come from what it has written; here the rows say something else by now.
func TestOwnRowsAreNotRead(t *testing.T) {
	t.Parallel()
	url := storetest.New(t)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context()) //nolint:errcheck // its server goes
	s, err := store.Open(t.Context(), store.Config{URL: url})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Register(t.Context(), store.Replica{ID: "one", Lease: time.Hour, Queues: []string{"default"}, Types: []string{"NOOP"}}))
	var lines bytes.Buffer
	printer, err := NewPrinter(PrinterConfig{Out: &lines})
	require.NoError(t, err)
	own := &Own{}
	own.keep(true)
	r, err := New(Config{Store: s, Hub: events.NewHub(), Connected: func() bool { return true }, Printer: printer, Own: own})
	require.NoError(t, err)
	defer r.Close()
	require.NoError(t, r.begin(t.Context()))

	_, err = conn.Exec(t.Context(), `INSERT INTO rowrun.task (id, type) VALUES (1, 'NOOP'); INSERT INTO rowrun.task_run (task_id) VALUES (1), (1)`)
	require.NoError(t, err)
	require.NoError(t, r.pass(t.Context())) // it has seen the runs
	round, err := s.Work(t.Context(), store.Trip{Replica: "one", Capabilities: store.Capabilities{Queues: []string{"default"}, Types: []string{"NOOP"}}, Want: 2})
	require.NoError(t, err)
	require.Len(t, round.Claims, 2)
	own.Claimed(round.Claims[:1]) // the other one has to be read
	_, err = conn.Exec(t.Context(), `ALTER TABLE rowrun.task_run DISABLE TRIGGER USER; UPDATE rowrun.task_run SET queue = 'read'; ALTER TABLE rowrun.task_run ENABLE TRIGGER USER`)
	require.NoError(t, err)
	tell := func(to string) string {
		lines.Reset()
		for _, c := range round.Claims {
			r.batch.Reached = append(r.batch.Reached, events.Reached{RunID: c.ID, To: to})
		}
		require.NoError(t, r.pass(t.Context()))
		return lines.String()
	}
	said := tell("RUNNING")
	require.Equal(t, 1, strings.Count(said, `"queue":"default","database_id":null,"version":null,"attempt":0,"from":"AVAILABLE","to":"RUNNING"`), said)
	require.Equal(t, 1, strings.Count(said, `"queue":"read","database_id":null,"version":null,"attempt":0,"from":"AVAILABLE","to":"RUNNING"`), said)
	require.Empty(t, tell("DONE"), "the rows say no such thing, whoever told it")

	endings := []store.Ending{{ID: round.Claims[0].ID, Claim: round.Claims[0].Claim}, {ID: round.Claims[1].ID, Claim: round.Claims[1].Claim}}
	ended, _, err := s.EndRuns(t.Context(), endings, time.Second)
	require.NoError(t, err)
	own.Ended(ended)
	said = tell("DONE")
	require.Equal(t, 1, strings.Count(said, `"queue":"default","database_id":null,"version":null,"attempt":0,"from":"RUNNING","to":"DONE"`), said)
	require.Equal(t, 1, strings.Count(said, `"queue":"read","database_id":null,"version":null,"attempt":0,"from":"RUNNING","to":"DONE"`), said)
	require.Empty(t, tell("DONE"), "each once")
}
