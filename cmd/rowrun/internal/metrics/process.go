package metrics

import (
	"errors"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// ProcessConfig says of which process Process tells.
type ProcessConfig struct {
	// Shards are their names. Required.
	Shards []string
	// Slots is how many runs the process executes at once, Used how many it executes or is about to. Required.
	Slots func() (slots, used int)
}

// Process answers scrapes of a process with several shards: with the metrics of each that is served, and with what is about the
// process, which has no shard.
type Process struct {
	own *prometheus.Registry

	mu     sync.Mutex
	served map[string]*Metrics // by shard
}

// NewProcess checks a configuration.
func NewProcess(config ProcessConfig) (*Process, error) {
	if len(config.Shards) == 0 || config.Slots == nil {
		return nil, errors.New("metrics: shards and their slots are required")
	}
	p := &Process{own: prometheus.NewRegistry(), served: map[string]*Metrics{}}
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&shards{
			process: p, config: config,
			up:    desc("shard_up", "1 for a shard whose replica was started: its database has been reached since the start of the process.", "shard"),
			slots: desc("pool_slots", "How many runs this process executes at once, at most, over all shards."),
			used:  desc("pool_slots_used", "How many slots execute a run, or may be filled by a claim that is under way."),
		},
	} {
		if err := p.own.Register(c); err != nil {
			return nil, errors.New("metrics: " + err.Error())
		}
	}
	return p, nil
}

// Serve has a shard's metrics told; nil: it has none now.
func (p *Process) Serve(shard string, m *Metrics) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m == nil {
		delete(p.served, shard)
	} else {
		p.served[shard] = m
	}
}

// Handler answers scrapes.
func (p *Process) Handler() http.Handler { return handler(prometheus.GathererFunc(p.gather)) }

// gather asks all shards at once: the database of one may not answer for some time.
func (p *Process) gather() ([]*dto.MetricFamily, error) {
	p.mu.Lock()
	from := []prometheus.Gatherer{p.own}
	for _, m := range p.served {
		from = append(from, m.registry)
	}
	p.mu.Unlock()
	all := make(prometheus.Gatherers, len(from))
	var asking sync.WaitGroup
	for i := range from {
		asking.Go(func() {
			found, err := from[i].Gather()
			all[i] = prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return found, err })
		})
	}
	asking.Wait()
	return all.Gather()
}

// shards tells what is about the process.
type shards struct {
	process         *Process
	config          ProcessConfig
	up, slots, used *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (s *shards) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.up, s.slots, s.used} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *shards) Collect(ch chan<- prometheus.Metric) {
	s.process.mu.Lock()
	for _, name := range s.config.Shards {
		gauge(ch, s.up, truth(s.process.served[name] != nil), name)
	}
	s.process.mu.Unlock()
	slots, used := s.config.Slots()
	gauge(ch, s.slots, float64(slots))
	gauge(ch, s.used, float64(used))
}
