package notifier_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/notifier"
)

// As many endpoints hang as have places for all workers; none of their tries ends while the other's messages come.
func TestManyEndpointsThatHangDelayNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var hanging []int64
	for range 4 {
		hanging = append(hanging, w.webhook("http://192.0.2.1/hangs", ""))
	}
	for _, hook := range hanging {
		w.add(hook, 20)
	}
	good := w.webhook("http://192.0.2.1/good", "")
	w.add(good, 20)
	hangs := make(chan struct{}, 100) // more than there are messages
	w.start(func(cfg *notifier.Config) {
		cfg.Workers, cfg.PerWebhook = 8, 2
		cfg.Send = func(ctx context.Context, m notifier.Message) notifier.Answer {
			if strings.HasSuffix(m.URL, "/good") {
				return notifier.Answer{Code: 200}
			}
			hangs <- struct{}{}
			<-ctx.Done()
			return notifier.Answer{Problem: "no answer"}
		}
		cfg.DrainTimeout = 1
	})
	w.eventually("the good one's", func() bool { return w.count(good, "DELIVERED") == 20 })
	require.GreaterOrEqual(t, len(hangs), 4, "each was being tried")
	require.LessOrEqual(t, len(hangs), 6, "the first of each, and a third of the workers beside")
}

// A record that the database refuses is said once, whatever passes find meanwhile, and that it is over once.
func TestWhatLastsIsSaidOnce(t *testing.T) {
	t.Parallel()
	for name, workers := range map[string]int{"no pass asks": 1, "passes are answered": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.exec(`CREATE SEQUENCE refusals; GRANT ALL ON refusals TO PUBLIC;
				CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('public.refusals'); RAISE EXCEPTION 'not now'; END $$;
				CREATE TRIGGER refuse BEFORE UPDATE ON rowrun.webhook_delivery FOR EACH ROW WHEN (NEW.status = 'DELIVERED') EXECUTE FUNCTION refuse()`)
			hook := w.webhook("http://192.0.2.1", "")
			w.add(hook, 1)
			w.start(func(cfg *notifier.Config) {
				cfg.Workers = workers
				cfg.Send = func(context.Context, notifier.Message) notifier.Answer { return notifier.Answer{Code: 200} }
			})
			w.eventually("refusals", func() bool {
				var n int
				require.NoError(w, w.pool.QueryRow(t.Context(), "SELECT last_value FROM refusals").Scan(&n))
				return n >= 6
			})
			require.Equal(t, 1, strings.Count(w.log.String(), "webhook deliveries failed"), w.log.String())
			require.NotContains(t, w.log.String(), "work again")
			w.exec("DROP TRIGGER refuse ON rowrun.webhook_delivery")
			w.eventually("the word", func() bool { return strings.Contains(w.log.String(), "webhook deliveries work again") })
			require.Equal(t, 1, w.count(hook, "DELIVERED"))
		})
	}
}
