package store_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/storetest"
)

// surveyor is a live replica that looks.
type surveyor struct {
	*store.Store
	conn *pgx.Conn
	url  string
}

func newSurveyor(t *testing.T) surveyor {
	t.Helper()
	url := storetest.New(t)
	s := surveyor{open(t, url, time.Minute), connect(t, url), url}
	addReplica(t, s.conn, "r")
	return s
}

func (s surveyor) look(t *testing.T) store.Survey {
	t.Helper()
	seen, err := s.Survey(t.Context(), "r", noop(), store.SurveyAll)
	require.NoError(t, err)
	return seen
}

// sweep makes a whole pass that claims nothing.
func (s surveyor) sweep(t *testing.T) int {
	t.Helper()
	pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Promote: store.PromoteSweep})
	require.NoError(t, err)
	return pass.Promoted
}

// unmarked takes away what a wake-up and a mark would have brought.
func (s surveyor) unmarked(t *testing.T) { exec(t, s.conn, `DELETE FROM rowrun.gate_mark`) }

func TestASurveyOfAnIdleDeploymentFindsNothing(t *testing.T) {
	t.Parallel()
	s := newSurveyor(t)
	s.sweep(t)
	before := s.look(t)
	require.Equal(t, store.Survey{Rules: before.Rules, NotifyQueue: before.NotifyQueue, Owned: []int64{}, Peers: 1, Now: before.Now}, before)
	require.NotZero(t, before.Now)

	// Nor do runs that have ended, tasks that recur later, and plans that have been announced.
	exec(t, s.conn, `INSERT INTO rowrun.plan (id) VALUES (1), (2)`)
	exec(t, s.conn, `INSERT INTO rowrun.task (id, plan_id, type) VALUES (11, 1, 'NOOP'), (12, 2, 'NOOP'), (13, NULL, 'NOOP')`)
	exec(t, s.conn, `INSERT INTO rowrun.task_run (task_id) VALUES (11), (13)`)
	s.sweep(t)
	exec(t, s.conn, `UPDATE rowrun.task_run SET status = 'CANCELED'`)
	s.sweep(t)
	exec(t, s.conn, `INSERT INTO rowrun.task (type, schedule) VALUES ('NOOP', '@yearly')`)
	s.sweep(t)
	idle := s.look(t)
	require.False(t, idle.Work)
	require.Positive(t, idle.NextDue, "the next tick")
	require.Equal(t, before.Rules, idle.Rules)
}

// Whatever a whole pass finds that no mark and no wake-up names, a survey asks for it.
func TestASurveyAsksForEveryWholePassThatFindsSomething(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make string // what is there when the replica looks
		lose bool   // and its marks are lost
	}{
		"a run that is due":   {make: `INSERT INTO rowrun.task_run (task_id, run_at) VALUES (1, clock_timestamp() + interval '100 ms'); SELECT pg_sleep(0.15)`, lose: true},
		"a run of a plan":     {make: `INSERT INTO rowrun.task_run (task_id) VALUES (10)`, lose: true},
		"a run of a database": {make: `INSERT INTO rowrun.task_run (task_id) VALUES (20)`, lose: true},
		"a mark":              {make: `INSERT INTO rowrun.gate_mark (kind, plan_id) VALUES ('PLAN', 1)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSurveyor(t)
			exec(t, s.conn, `INSERT INTO rowrun.plan (id) VALUES (1)`)
			exec(t, s.conn, `INSERT INTO rowrun.task (id, plan_id, type, database_id) VALUES (1, NULL, 'NOOP', NULL), (10, 1, 'NOOP', NULL), (20, NULL, 'NOOP', 'd')`)
			s.sweep(t)
			require.False(t, s.look(t).Work)
			exec(t, s.conn, c.make)
			if c.lose {
				s.unmarked(t)
			}
			require.True(t, s.look(t).Work)
			promoted := s.sweep(t)
			if c.lose {
				require.Equal(t, 1, promoted)
				require.True(t, s.look(t).Work, "a run that may be claimed")
			}
		})
	}
}

func TestASurveyAsksForAWholePassWhereNothingButTheSweepWouldOpenAGate(t *testing.T) {
	t.Parallel()
	s := newSurveyor(t)
	exec(t, s.conn, `INSERT INTO rowrun.task (id, type, database_id, version) VALUES (1, 'NOOP', 'd', '1'), (2, 'NOOP', 'd', '2')`)
	exec(t, s.conn, `INSERT INTO rowrun.task_run (id, task_id) VALUES (1, 1), (2, 2)`)
	require.Equal(t, 1, s.sweep(t))
	exec(t, s.conn, `UPDATE rowrun.task_run SET status = 'CANCELED' WHERE id = 1`)
	s.unmarked(t)
	require.True(t, s.look(t).Work)
	require.Equal(t, 1, s.sweep(t))
}

func TestASurveyAsksForAWholePassWhereAnEventIsUndecided(t *testing.T) {
	t.Parallel()
	s := newSurveyor(t)
	exec(t, s.conn, `INSERT INTO rowrun.plan (id) VALUES (1)`)
	exec(t, s.conn, `INSERT INTO rowrun.task (id, plan_id, type) VALUES (1, 1, 'NOOP')`)
	s.sweep(t)
	require.False(t, s.look(t).Work, "a plan that hasn't begun")
	exec(t, s.conn, `UPDATE rowrun.task SET outcome = 'DONE' WHERE id = 1`)
	s.unmarked(t)
	require.True(t, s.look(t).Work)
	s.sweep(t)
	require.Equal(t, 1, query[int](t, s.conn, `SELECT announced_round FROM rowrun.plan`))
	require.False(t, s.look(t).Work)
}

func TestASurveyLeavesRunsThatThisReplicaCanNotClaim(t *testing.T) {
	t.Parallel()
	s := newSurveyor(t)
	exec(t, s.conn, `INSERT INTO rowrun.task (id, type) VALUES (1, 'OTHERS')`)
	exec(t, s.conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES (1, now()), (1, now() + interval '1 hour')`)
	s.sweep(t)
	seen := s.look(t)
	require.False(t, seen.Work)
	require.InDelta(t, time.Hour.Seconds(), seen.NextDue.Seconds(), 60)
	exec(t, s.conn, `UPDATE rowrun.task_run SET run_at = now() WHERE status = 'PENDING'`)
	require.True(t, s.look(t).Work, "due")
}

func TestASurveySeesWhatTheOtherSweepsAreFor(t *testing.T) {
	t.Parallel()
	s := newSurveyor(t)
	exec(t, s.conn, `INSERT INTO rowrun.task (id, type, timeout) VALUES (1, 'NOOP', '1 hour')`)
	exec(t, s.conn, `INSERT INTO rowrun.task_run (id, task_id) VALUES (1, 1)`)
	s.sweep(t)
	pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Want: 1})
	require.NoError(t, err)
	require.Len(t, pass.Claims, 1)
	idle := s.look(t)
	require.Equal(t, []int64{1}, idle.Owned)
	require.False(t, idle.Overdue)

	held, err := s.HandOver(t.Context(), 1, pass.Claims[0].Claim)
	require.NoError(t, err)
	require.True(t, held)
	require.Empty(t, s.look(t).Owned)
	exec(t, s.conn, `UPDATE rowrun.task_run SET deadline = now() - interval '1 s'`)
	require.True(t, s.look(t).Overdue)
	ended, err := s.EndOverdue(t.Context(), store.Contact{For: time.Hour})
	require.NoError(t, err)
	require.Len(t, ended, 1)
	require.False(t, s.look(t).Overdue)

	require.False(t, s.look(t).Notes)
	exec(t, s.conn, `INSERT INTO rowrun.stream_note (event, message) VALUES ('x', 'x')`)
	require.True(t, s.look(t).Notes)
	exec(t, s.conn, `UPDATE rowrun.stream_note SET printed_at = now()`)
	require.False(t, s.look(t).Notes)

	require.False(t, s.look(t).Deliveries)
	exec(t, s.conn, `INSERT INTO rowrun.plan (id) VALUES (1); INSERT INTO rowrun.webhook (id, url) VALUES (1, 'http://x')`)
	exec(t, s.conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload, next_attempt_at)
		VALUES (1, 1, 1, 'PIPELINE_FAILED', 'm', '{}', now() + interval '1 hour')`)
	require.False(t, s.look(t).Deliveries, "not due")
	exec(t, s.conn, `UPDATE rowrun.webhook_delivery SET next_attempt_at = now()`)
	require.True(t, s.look(t).Deliveries)
}

func TestASurveyTellsRulesApart(t *testing.T) {
	t.Parallel()
	s := newSurveyor(t)
	seen := map[string]bool{s.look(t).Rules: true}
	for _, change := range []func() error{
		func() error { return s.DrainType(t.Context(), "NOOP", true) },
		func() error { return s.AliasType(t.Context(), "OLD", "NOOP", nil) },
		func() error { return s.AliasType(t.Context(), "OLD", "NOOP", []byte(`{"a": "b"}`)) },
		func() error { _, err := s.PauseReplica(t.Context(), "r", true); return err },
	} {
		require.NoError(t, change())
		rules := s.look(t).Rules
		require.False(t, seen[rules], "as before")
		seen[rules] = true
		require.Equal(t, rules, s.look(t).Rules)
	}
}

func TestASurveyOfAReplicaThatWasDeclaredDeadSaysSo(t *testing.T) {
	t.Parallel()
	s := newSurveyor(t)
	exec(t, s.conn, `UPDATE rowrun.replica_heartbeat SET state = 'DEAD'`)
	_, err := s.Survey(t.Context(), "r", noop(), store.SurveyAll)
	require.ErrorIs(t, err, store.ErrDead)
}

// Replicas that would be quicker are counted: those that can do all that this one can, hear of it, and have a slot.
func TestASurveyCountsReplicasThatCanDoTheSame(t *testing.T) {
	t.Parallel()
	s := newSurveyor(t)
	exec(t, s.conn, `UPDATE rowrun.replica_heartbeat SET concurrency = 5, databases = '{a}', commands = '{c}', wake_source = 'notify'`)
	require.Equal(t, 1, s.look(t).Peers)
	add := func(id, columns, values string) {
		exec(t, s.conn, `INSERT INTO rowrun.replica_heartbeat (replica_id, last_heartbeat, lease, types, queues, databases, commands, wake_source, concurrency)
			VALUES ('`+id+`', now(), '1 day', '{NOOP,SQL}', '{default,other}', '{a,b}', '{c,d}', 'wal', 5)`)
		if columns != "" {
			exec(t, s.conn, `UPDATE rowrun.replica_heartbeat SET (`+columns+`) = ROW(`+values+`) WHERE replica_id = '`+id+`'`)
		}
	}
	add("one that can do more", "", "")
	require.Equal(t, 2, s.look(t).Peers)
	add("of other types", "types", "'{SQL}'::text[]")
	add("of other queues", "queues", "'{other}'::text[]")
	add("of another database", "databases", "'{b}'::text[]")
	add("of another command", "commands", "'{d}'::text[]")
	add("full", "running", "5")
	add("deaf", "wake_source", "'poll'")
	add("paused", "paused_at", "now()")
	add("drains", "state", "'DRAINING'")
	add("dead by its lease", "last_heartbeat", "now() - interval '2 days'")
	add("an admin", "role", "'admin'")
	add("a worker", "worker", "true")
	require.Equal(t, 2, s.look(t).Peers)
}

// Who holds something up is asked where that is wanted only.
func TestASurveyLooksForHoldUpsWhereItIsAsked(t *testing.T) {
	t.Parallel()
	s := newSurveyor(t)
	s.sweep(t)
	stranger := connect(t, s.url)
	exec(t, stranger, `SELECT pg_advisory_lock(1920298607, 2)`)
	require.Len(t, s.look(t).HoldUps, 1)
	seen, err := s.Survey(t.Context(), "r", noop(), store.SurveyWork)
	require.NoError(t, err)
	require.Empty(t, seen.HoldUps)
}

// What no other replica finds for this one is in a survey of any depth; the rest is not looked for.
func TestASurveyOfItsOwnSeesWhatOthersDoNot(t *testing.T) {
	t.Parallel()
	s := newSurveyor(t)
	s.sweep(t)
	own := func() store.Survey {
		v, err := s.Survey(t.Context(), "r", noop(), store.SurveyOwn)
		require.NoError(t, err)
		return v
	}
	exec(t, s.conn, `INSERT INTO rowrun.task (id, type, plan_id, name) VALUES (1, 'NOOP', NULL, 'own'), (2, 'NOOP', NULL, 'waits')`)
	exec(t, s.conn, `INSERT INTO rowrun.task_run (task_id, run_at) VALUES (2, now() + interval '1 hour')`)
	exec(t, s.conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	exec(t, s.conn, `UPDATE rowrun.replica_heartbeat SET paused_at = now()`)
	all, v := s.look(t), own()
	require.True(t, all.Work, "a run is AVAILABLE: the others look for it")
	require.False(t, v.Work)
	require.InDelta(t, time.Hour, v.NextDue, float64(time.Minute))
	require.Equal(t, []any{all.Owned, all.Rules, all.NotifyQueue, all.Peers}, []any{v.Owned, v.Rules, v.NotifyQueue, v.Peers})
	require.NotZero(t, v.Now)

	exec(t, s.conn, `UPDATE rowrun.replica_heartbeat SET paused_at = NULL`)
	unpaused := own()
	require.NotEqual(t, v.Rules, unpaused.Rules)
	require.Equal(t, 1, unpaused.Peers)
	pass, err := s.Work(t.Context(), store.Trip{Replica: "r", Capabilities: noop(), Want: 1, Claim: store.ClaimAny})
	require.NoError(t, err)
	require.Len(t, pass.Claims, 1)
	require.Equal(t, []int64{pass.Claims[0].ID}, own().Owned)

	exec(t, s.conn, `UPDATE rowrun.task_run SET run_at = now() WHERE status = 'PENDING'`)
	s.unmarked(t)
	require.True(t, own().Work, "a run is due")

	require.False(t, own().Notes)
	require.False(t, own().Deliveries)
	exec(t, s.conn, `INSERT INTO rowrun.stream_note (event, message) VALUES ('x', 'x')`)
	exec(t, s.conn, `INSERT INTO rowrun.plan (id) VALUES (1); INSERT INTO rowrun.webhook (id, url) VALUES (1, 'http://x')`)
	exec(t, s.conn, `INSERT INTO rowrun.webhook_delivery (webhook_id, plan_id, round, event_type, message_id, payload, next_attempt_at)
		VALUES (1, 1, 1, 'PIPELINE_FAILED', 'm', '{}', now())`)
	require.True(t, own().Notes, "one replica alone writes the stream")
	require.True(t, own().Deliveries, "the others may not have its secret")

	exec(t, s.conn, `UPDATE rowrun.replica_heartbeat SET state = 'DEAD'`)
	_, err = s.Survey(t.Context(), "r", noop(), store.SurveyOwn)
	require.ErrorIs(t, err, store.ErrDead)
}
