package drill

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rowrun/rowrun/notifier/egress"
	"github.com/rowrun/rowrun/store"
)

// The series that tell of lost workers.
const (
	seriesSettled = `rowrun_scheduler_sweep_found_runs_total{sweep="stale"}`
	seriesStale   = "rowrun_store_stale_runs"
	seriesOrphans = "rowrun_store_orphan_runs"
	seriesLive    = "rowrun_store_live_replicas"
)

// cached is how old an endpoint's figures of the database may be.
const cached = 15 * time.Second

// figures are what a source says at a moment: values by series, or a verdict of status --check.
type figures struct {
	deployment string // that an endpoint names; "": none
	values     map[string]float64
	code       int
	text       string
}

// source is one way to learn of an outage.
type source struct {
	name   string
	ask    func(context.Context) (figures, error)
	pause  time.Duration // between two questions
	before figures
	asked  time.Time
	alert  *Alert // nil: it has told of nothing yet
	failed string // its last question's error
}

func (d *Drill) healthSource() *source {
	return &source{name: "rowrun.health", pause: glance, ask: func(ctx context.Context) (figures, error) {
		h, err := d.stands(ctx)
		return figures{values: healthOf(h)}, err
	}}
}

func (d *Drill) checkSource() *source {
	return &source{name: "status --check", pause: glance, ask: func(ctx context.Context) (figures, error) {
		h, err := d.stands(ctx)
		if err != nil {
			return figures{}, err
		}
		code, text := d.cfg.Check(h)
		return figures{code: code, text: text}, nil
	}}
}

// glance is how often the view is read: where much waits it isn't for nothing.
const glance = 500 * time.Millisecond

// stands is how the deployment stands, read once for both sources.
func (d *Drill) stands(ctx context.Context) (store.Health, error) {
	if !d.read.IsZero() && time.Since(d.read) < glance/2 {
		return d.health, nil
	}
	ctx, cancel := context.WithTimeout(ctx, manners)
	defer cancel()
	h, err := d.cfg.Health(ctx)
	if err != nil {
		return h, err
	}
	d.health, d.read = h, time.Now()
	return h, nil
}

// endpoint is a replica, an admin or an exporter that answers scrapes.
func endpoint(address string) (*source, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("--metrics-url: not an address")
	}
	client, err := egress.NewClient(egress.Config{Origin: &url.URL{Scheme: u.Scheme, Host: u.Host}})
	if err != nil {
		return nil, fmt.Errorf("--metrics-url: %w", err)
	}
	return &source{name: address, pause: time.Second, ask: func(ctx context.Context) (figures, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return figures{}, err
		}
		request.Close = true // the endpoint may be what is stopped
		answer, err := client.Do(request)
		if err != nil {
			return figures{}, err
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode != http.StatusOK {
			return figures{}, errors.New("answered " + answer.Status)
		}
		f := parse(io.LimitReader(answer.Body, 16<<20))
		if len(f.values) == 0 {
			return f, errors.New("no metrics of Rowrun's are there")
		}
		return f, nil
	}}, nil
}

// parse finds the series above in the text format of Prometheus. Replicas write it, one series a line: what else a line may
// hold (times, exemplars) they don't.
func parse(text io.Reader) figures {
	f := figures{values: map[string]float64{}}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		series, number, ok := strings.Cut(strings.TrimSpace(lines.Text()), "} ")
		if !ok || !strings.HasPrefix(series, "rowrun_") {
			continue
		}
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			continue
		}
		name, labels, _ := strings.Cut(series, "{")
		if _, behind, ok := strings.Cut(labels, `deployment="`); ok {
			f.deployment, _, _ = strings.Cut(behind, `"`)
		}
		switch {
		case name == seriesStale, name == seriesOrphans, name == seriesLive:
			f.values[name] += value
		case name+`{sweep="stale"}` == seriesSettled && strings.Contains(labels, `sweep="stale"`):
			f.values[seriesSettled] += value
		}
	}
	return f
}

// worse says whether figures tell of lost workers that didn't before, by which one, and which alert asks for it.
func worse(before, now figures) (seen, rule string, told bool) {
	for _, sign := range []struct {
		series, rule string
		bad          func(was, is float64) bool
	}{
		{seriesLive, "RowrunNoReplica", func(was, is float64) bool { return is == 0 && was > 0 }},
		{seriesSettled, "RowrunStaleRuns", func(was, is float64) bool { return is > was }},
		{seriesStale, "RowrunStaleRunsStay", func(was, is float64) bool { return is > was }},
		{seriesOrphans, "RowrunOrphans", func(was, is float64) bool { return is > was }},
	} {
		is, known := now.values[sign.series]
		if was := before.values[sign.series]; known && sign.bad(was, is) {
			return fmt.Sprintf("%s %s → %s", sign.series, number(was), number(is)), sign.rule, true
		}
	}
	if now.code > before.code && now.code < 3 {
		return [...]string{"OK", "WARNING", "CRITICAL"}[before.code] + " → " + [...]string{"OK", "WARNING", "CRITICAL"}[now.code] + ": " + now.text, "", true
	}
	return "", "", false
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// baseline is how things stood before the outage. A source that was at its worst already is left out: it could tell of nothing.
func (d *Drill) baseline(ctx context.Context) error {
	d.read = time.Time{} // what was read before there were workers is no baseline
	kept := d.sources[:0]
	for _, s := range d.sources {
		var err error
		if s.before, err = s.ask(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if s.before.code > 0 {
			d.report.Notes = append(d.report.Notes, "status --check is not judged: it was not OK before the outage: "+s.before.text)
			continue
		}
		kept = append(kept, s)
	}
	d.sources = kept
	return nil
}

// listen asks every source that has told of nothing, and says whether all have. While each lost worker holds its lease (over is false)
// no series can tell of the outage: what changes in one until then is somebody else's, and is how things stood before.
func (d *Drill) listen(ctx context.Context, outage time.Time, over bool) bool {
	all := true
	for _, s := range d.sources {
		if s.alert != nil {
			continue
		}
		if time.Since(s.asked) >= s.pause {
			s.asked = time.Now()
			now, err := s.ask(ctx)
			s.failed = ""
			if err != nil {
				s.failed = err.Error() // an endpoint may be one of those that were stopped
			} else if !over && now.values != nil {
				s.before = now
			} else if seen, rule, told := worse(s.before, now); told {
				after := milliseconds(time.Since(outage))
				s.alert = &Alert{Source: s.name, Told: true, AfterMS: &after, Seen: seen, Rule: rule}
				continue
			}
		}
		all = false
	}
	return all
}
