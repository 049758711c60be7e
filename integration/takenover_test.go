package integration_test

import (
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const (
	completeRun    = "SELECT rowrun.complete_run($1, $2::text::uuid, $3::jsonb)"
	failRun        = "SELECT rowrun.fail_run($1, $2::text::uuid, 'out of paper')"
	reportProgress = "SELECT rowrun.report_progress($1, $2::text::uuid, '{}')"
)

// takenOver makes a run that the app has answered with 202, and returns its call.
func takenOver(t *testing.T, d *database, w *witness) *call {
	t.Helper()
	id := d.job(t, "HTTP", `{"path": "/take"}`, nil)
	c := w.await(t, id)
	eventually(t, patience, "the hand-over", func() bool {
		r := d.look(t, id)
		require.Equal(t, "RUNNING", r.Status)
		return r.ReplicaID == nil
	})
	return c
}

func TestTakenOverRunSurvivesEveryReplica(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	one, two := serve(t, d.url, quickLease(), w.app()), serve(t, d.url, quickLease(), w.app())
	kept, canceled, failed := takenOver(t, d, w), takenOver(t, d, w), takenOver(t, d, w)

	one.signal(t, syscall.SIGTERM)
	require.Zero(t, one.wait(t))
	two.kill(t)
	three := serve(t, d.url, quickLease(), w.app())
	// The one that was killed is declared dead; what the app has is none of its runs.
	eventually(t, patience, "the stale sweep", func() bool {
		return ask[bool](t, d, "SELECT state = 'DEAD' FROM rowrun.replica_heartbeat WHERE replica_id = $1", two.id(t))
	})
	for _, c := range []*call{kept, canceled, failed} {
		r := d.look(t, c.run)
		require.Equal(t, "RUNNING", r.Status)
		require.Nil(t, r.ReplicaID)
	}
	require.Empty(t, three.log.find(logStale))

	// A claim that isn't the run's is refused, and changes nothing.
	before := d.look(t, kept.run)
	for _, forged := range []string{uuid.NewString(), canceled.claim} {
		d.refused(t, "RR002", completeRun, kept.run, forged, "{}")
		d.refused(t, "RR002", failRun, kept.run, forged)
		d.refused(t, "RR002", reportProgress, kept.run, forged)
	}
	d.refused(t, "RR002", "SELECT rowrun.complete_run($1, NULL)", kept.run)
	require.Equal(t, before, d.look(t, kept.run))

	require.False(t, ask[bool](t, d, `SELECT rowrun.report_progress($1, $2::text::uuid, '{"done": 3}')`, kept.run, kept.claim))
	d.exec(t, completeRun, kept.run, kept.claim, `{"answer": 42}`)
	d.await(t, kept.run, "DONE")
	require.Equal(t, "42", ask[string](t, d, "SELECT result ->> 'answer' FROM rowrun.task_run WHERE id = $1", kept.run))
	d.refused(t, "RR002", completeRun, kept.run, kept.claim, "{}")

	// Nobody has to agree to a cancel; the app hears of it when it reports.
	require.Equal(t, "CANCELED", ask[string](t, d, "SELECT rowrun.cancel_run($1)", canceled.run))
	require.True(t, ask[bool](t, d, reportProgress, canceled.run, canceled.claim))
	d.refused(t, "RR002", completeRun, canceled.run, canceled.claim, "{}")

	d.exec(t, failRun, failed.run, failed.claim)
	r := d.await(t, failed.run, "FAILED")
	require.Equal(t, "ERROR out of paper", r.Code+" "+r.Detail)
	require.Equal(t, 3, w.total(), "nobody called the app again")
}

// The holder's own claim is as secret as that of a run that was handed over.
func TestForgedClaimOfARunThatExecutesIsRefused(t *testing.T) {
	t.Parallel()
	d, w := newDatabase(t), newWitness(t)
	serve(t, d.url, rareSweeps(), w.app())
	id := d.job(t, "HTTP", `{"path": "/wait"}`, nil)
	open := w.await(t, id)
	d.refused(t, "RR002", completeRun, id, uuid.NewString(), "{}")
	d.refused(t, "RR002", failRun, id, uuid.NewString())
	d.refused(t, "RR002", reportProgress, id, uuid.NewString())
	require.Zero(t, ask[int64](t, d, "SELECT count(*) FROM rowrun.task_run r WHERE r::text LIKE '%' || $1 || '%'", open.claim),
		"the claim stands in the table")
	open.answer()
	d.await(t, id, "DONE")
}
