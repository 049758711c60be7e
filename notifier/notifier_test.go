package notifier_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/notifier"
	"github.com/rowrun/rowrun/store"
)

const rarely = 10 * time.Minute

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	send := func(context.Context, notifier.Message) notifier.Answer { return notifier.Answer{} }
	s, err := store.Open(t.Context(), store.Config{URL: "postgres://127.0.0.1:1/none"})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	for _, cfg := range []notifier.Config{
		{},
		{Store: s},
		{Send: send},
		{Store: s, Send: send, Workers: -1},
		{Store: s, Send: send, PerWebhook: -1},
		{Store: s, Send: send, SweepInterval: -1},
		{Store: s, Send: send, DrainTimeout: -1},
	} {
		_, err := notifier.New(cfg)
		require.Error(t, err)
	}
}

func TestAMessageThatFailedComesAgainTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, got := w.receiver(func(n int, resp http.ResponseWriter, _ *http.Request) {
		switch n {
		case 1:
			resp.WriteHeader(http.StatusInternalServerError)
		case 2:
			panic(http.ErrAbortHandler) // the connection is reset after the request
		}
	})
	hook := w.webhook(url, "")
	w.add(hook, 1)
	w.start(nil)
	for try := 1; try <= 2; try++ {
		w.eventually("a failed try", func() bool {
			var attempts int
			require.NoError(w, w.pool.QueryRow(t.Context(), "SELECT attempts FROM rowrun.webhook_delivery WHERE status = 'PENDING'").Scan(&attempts))
			return attempts == try
		})
		var in float64
		require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT extract(epoch FROM next_attempt_at - now())::float8 FROM rowrun.webhook_delivery").Scan(&in))
		require.InDelta(t, map[int]float64{1: 5, 2: 300}[try], in, map[int]float64{1: 1.5, 2: 31}[try])
		w.exec("UPDATE rowrun.webhook_delivery SET next_attempt_at = now()")
	}
	w.eventually("the delivery", func() bool { return w.count(hook, "DELIVERED") == 1 })
	require.Len(t, got.copies(), 1)
	for _, bodies := range got.copies() {
		require.Equal(t, []string{`{"hunter2": 1}`, `{"hunter2": 1}`, `{"hunter2": 1}`}, bodies)
	}
	require.NotContains(t, w.log.String(), "hunter2")
	var stored string
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT concat(response_code, ' ', last_error, ' ', attempts) FROM rowrun.webhook_delivery").Scan(&stored))
	require.Equal(t, "200  3", stored)
}

func TestANextTryIsMadeWhenItIsDueWithoutASweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, got := w.receiver(nil)
	w.add(w.webhook(url, ""), 1)
	w.exec("UPDATE rowrun.webhook_delivery SET next_attempt_at = now() + interval '400 ms'")
	begun := time.Now()
	w.start(func(cfg *notifier.Config) { cfg.SweepInterval = rarely })
	w.eventually("the delivery", func() bool { return got.total() == 1 })
	require.Greater(t, time.Since(begun), 200*time.Millisecond)
}

func TestAWakeUpDeliversAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, got := w.receiver(nil)
	hook := w.webhook(url, "")
	r := w.start(func(cfg *notifier.Config) { cfg.SweepInterval = rarely })
	for n := 1; n <= 20; n++ {
		w.add(hook, 1)
		r.look()
		w.eventually("the delivery", func() bool { return got.total() == n })
	}
}

func TestManyNotifiersSendEachMessageOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, got := w.receiver(nil)
	var hooks []int64
	for range 10 {
		hooks = append(hooks, w.webhook(url, ""))
	}
	for _, hook := range hooks {
		w.add(hook, 30)
	}
	for range 3 {
		w.start(nil)
	}
	w.eventually("all deliveries", func() bool { return w.count(0, "DELIVERED") == 300 })
	require.Equal(t, 300, got.total())
	require.Len(t, got.copies(), 300)
}

func TestGoneDisablesTheWebhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, got := w.receiver(func(_ int, resp http.ResponseWriter, _ *http.Request) { resp.WriteHeader(http.StatusGone) })
	fine, fineGot := w.receiver(nil)
	gone, other := w.webhook(url, ""), w.webhook(fine, "")
	w.add(gone, 10)
	w.add(other, 3)
	w.start(nil)
	w.eventually("the end", func() bool { return w.count(gone, "DISABLED") == 10 && w.count(other, "DELIVERED") == 3 })
	require.LessOrEqual(t, got.total(), 2, "those under way")
	require.Equal(t, 3, fineGot.total())
	var enabled int64
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT id FROM rowrun.webhook WHERE enabled").Scan(&enabled))
	require.Equal(t, other, enabled)
	said := fmt.Sprintf(`"webhook_id":%d,"deliveries":10,`, gone)
	w.eventually("the line about it", func() bool { return strings.Contains(w.log.String(), said) })
}

// Whoever switches a webhook off by hand keeps what was for it.
func TestADisabledWebhookWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, got := w.receiver(nil)
	off, on := w.webhook(url, ""), w.webhook(url, "")
	w.exec("UPDATE rowrun.webhook SET enabled = false WHERE id = $1", off)
	w.add(off, 2)
	w.add(on, 1)
	w.start(nil)
	w.eventually("the other's", func() bool { return w.count(on, "DELIVERED") == 1 })
	require.Equal(t, 2, w.count(off, "PENDING"))
	require.Equal(t, 1, got.total())
	w.exec("UPDATE rowrun.webhook SET enabled = true WHERE id = $1", off)
	w.eventually("what waited", func() bool { return w.count(off, "DELIVERED") == 2 })
}

func TestDeliveriesWithoutTheirSecretWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, got := w.receiver(nil)
	w.set("FINE", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	waits, fine := w.webhook(url, "env:LATER"), w.webhook(url, "env:FINE")
	w.add(waits, 5)
	w.add(fine, 5)
	w.start(nil)
	w.eventually("the others", func() bool { return w.count(fine, "DELIVERED") == 5 })
	said := fmt.Sprintf(`"webhook_id":%d,"problem":"secret_ref: env:LATER is not set in this replica"`, waits)
	w.eventually("the word", func() bool { return strings.Contains(w.log.String(), said) })
	// One sweep follows the other, and each tries again.
	w.eventually("three more", func() bool {
		w.add(fine, 1)
		return w.count(fine, "DELIVERED") >= 20
	})
	require.Equal(t, 1, strings.Count(w.log.String(), said))
	var attempts int
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT sum(attempts) FROM rowrun.webhook_delivery WHERE webhook_id = $1", waits).Scan(&attempts))
	require.Zero(t, attempts)
	require.Equal(t, 5, w.count(waits, "PENDING"))
	var stored []string
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT array_agg(DISTINCT last_error) FROM rowrun.webhook_delivery WHERE last_error <> ''").Scan(&stored))
	require.Equal(t, []string{"secret_ref: the variable that it names is not set in this replica"}, stored, "a viewer may not read which")

	w.set("LATER", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	w.eventually("what waited", func() bool { return w.count(waits, "DELIVERED") == 5 })
	w.eventually("the word", func() bool { return strings.Contains(w.log.String(), "webhook deliveries go on") })
	for id, bodies := range got.copies() {
		require.Len(t, bodies, 1, id)
	}
}

// A dead endpoint has places of its own among the workers.
func TestADeadEndpointDelaysNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var hanging, most atomic.Int32
	dead, _ := w.receiver(func(_ int, _ http.ResponseWriter, req *http.Request) {
		most.Store(max(most.Load(), hanging.Add(1)))
		<-req.Context().Done()
		hanging.Add(-1)
	})
	good, got := w.receiver(nil)
	deadHook := w.webhook(dead, "")
	w.add(deadHook, 200)
	for range 50 {
		w.add(w.webhook(good, ""), 2)
	}
	begun := time.Now()
	w.start(func(cfg *notifier.Config) { cfg.DrainTimeout = time.Second })
	w.eventually("the good ones", func() bool { return got.total() == 100 })
	took := time.Since(begun)
	require.Less(t, took, 10*time.Second, "a try of the dead one takes 15")
	require.EqualValues(t, 2, hanging.Load(), "it was being tried all the while")
	require.EqualValues(t, 2, most.Load())
	require.Equal(t, 200, w.count(deadHook, "PENDING"))
	t.Logf("50 endpoints got 2 messages each in %s beside a dead one with 200", took)
}

func TestADrainLetsTriesEndAndClaimsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	arrived, answer := make(chan struct{}), make(chan struct{})
	url, got := w.receiver(func(_ int, _ http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-answer
	})
	hook := w.webhook(url, "")
	w.add(hook, 3)
	r := w.start(func(cfg *notifier.Config) { cfg.PerWebhook = 1 })
	<-arrived
	r.stop()
	close(answer)
	r.end()
	require.Equal(t, 1, w.count(hook, "DELIVERED"))
	require.Equal(t, 2, w.count(hook, "PENDING"))
	require.Equal(t, 1, got.total())
	var leases int
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT count(*) FROM rowrun.webhook_delivery WHERE lease_token IS NOT NULL").Scan(&leases))
	require.Zero(t, leases)
}

// What the drain breaks off is nobody's failure, and free for others at once.
func TestADrainHasAnEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	arrived := make(chan struct{}, 1)
	url, _ := w.receiver(func(_ int, _ http.ResponseWriter, req *http.Request) {
		arrived <- struct{}{}
		<-req.Context().Done()
	})
	w.add(w.webhook(url, ""), 1)
	r := w.start(func(cfg *notifier.Config) { cfg.DrainTimeout = 100 * time.Millisecond })
	<-arrived
	begun := time.Now()
	r.stop()
	r.end()
	require.Less(t, time.Since(begun), 12*time.Second, "a try takes 15")
	var state string
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT concat_ws(' ', status, attempts, lease_token IS NULL, leased_until IS NULL) FROM rowrun.webhook_delivery").Scan(&state))
	require.Equal(t, "PENDING 0 t t", state)
}

// What was sent is recorded when the database lets it, and not sent again.
func TestARecordIsTriedUntilItIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, got := w.receiver(nil)
	hook := w.webhook(url, "")
	w.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
		CREATE TRIGGER refuse BEFORE UPDATE ON rowrun.webhook_delivery FOR EACH ROW WHEN (NEW.status = 'DELIVERED') EXECUTE FUNCTION refuse()`)
	w.add(hook, 1)
	w.start(nil)
	w.eventually("the word", func() bool { return strings.Contains(w.log.String(), "record delivery: ERROR: not now") })
	w.exec("DROP TRIGGER refuse ON rowrun.webhook_delivery")
	w.eventually("the record", func() bool { return w.count(hook, "DELIVERED") == 1 })
	require.Equal(t, 1, got.total())
}

// A notifier that vanished between the claim and the record holds nothing for longer than its lease.
func TestALeaseThatRanOutIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, got := w.receiver(nil)
	hook := w.webhook(url, "")
	w.add(hook, 1)
	w.exec("UPDATE rowrun.webhook_delivery SET leased_until = now() + interval '500 ms', lease_token = gen_random_uuid()")
	w.start(nil)
	w.eventually("the delivery", func() bool { return w.count(hook, "DELIVERED") == 1 })
	require.Equal(t, 1, got.total())
}

func TestEachTryIsTold(t *testing.T) {
	t.Parallel()
	for want, c := range map[notifier.Outcome]struct {
		answer  notifier.Answer
		attempt int // how many there were before
	}{
		notifier.Delivered: {answer: notifier.Answer{Code: 200}},
		notifier.Refused:   {answer: notifier.Answer{Code: 500, Problem: "no"}},
		notifier.Exhausted: {answer: notifier.Answer{Code: 500, Problem: "no"}, attempt: 100},
		notifier.Gone:      {answer: notifier.Answer{Code: http.StatusGone, Problem: "gone"}},
		notifier.Unready:   {answer: notifier.Answer{Problem: "no secret", Unready: true}},
	} {
		require.Contains(t, notifier.Outcomes(), want)
		w := newWorld(t)
		w.add(w.webhook("http://192.0.2.1", ""), 1)
		w.exec(fmt.Sprintf("UPDATE rowrun.webhook_delivery SET attempts = %d", c.attempt))
		told := make(chan notifier.Outcome, 10)
		w.start(func(cfg *notifier.Config) {
			cfg.SweepInterval = rarely
			cfg.Send = func(context.Context, notifier.Message) notifier.Answer { return c.answer }
			cfg.Tried = func(outcome notifier.Outcome) { told <- outcome }
		})
		select {
		case got := <-told:
			require.Equal(t, want, got)
		case <-time.After(30 * time.Second):
			require.Fail(t, "nothing was told", want)
		}
	}
}

// Somebody else's looks stand for the sweeps: as long as they find nothing none is made, and what they find is delivered.
func TestLooksOfSomebodyElseStandForTheSweeps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, got := w.receiver(nil)
	looked := make(chan bool)
	w.start(func(c *notifier.Config) { c.SweepInterval, c.Looked = time.Second, looked })
	looked <- false
	w.add(w.webhook(url, ""), 1)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 40 {
		<-tick.C
		looked <- false
	}
	require.Zero(t, got.total(), "a sweep was made")
	looked <- true
	w.eventually("a delivery", func() bool { return got.total() == 1 })
	w.add(w.webhook(url, ""), 1)
	w.eventually("a delivery though nobody looks any more", func() bool { return got.total() == 2 })
}
