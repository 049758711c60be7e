package bench

// Report is what a bench found out.
type Report struct {
	Program      Program       `json:"program"`
	Server       Server        `json:"server"`
	Sizes        Sizes         `json:"sizes"`
	Notes        []string      `json:"notes"` // about all measurements
	Measurements []Measurement `json:"measurements"`
}

// Program is the side of the replicas.
type Program struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Cores    int    `json:"cores"` // of the machine on which the bench and its replicas run
}

// Server is the side of the database.
type Server struct {
	Version       string    `json:"version"`
	SchemaVersion int64     `json:"schema_version"`
	Settings      []Setting `json:"settings"`
	// Runs is about how many rows rowrun.task_run had before, RunBytes its size
	// with its indexes, DatabaseBytes that of the database.
	Runs          int64 `json:"runs"`
	RunBytes      int64 `json:"run_bytes"`
	DatabaseBytes int64 `json:"database_bytes"`
	// Statements says that pg_stat_statements could be read.
	Statements bool `json:"pg_stat_statements"`
	// Stream says that the replicas wrote the stream, as they do by default.
	Stream bool `json:"stream"`
}

// Setting is one of the server's.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Sizes are the Config's.
type Sizes struct {
	Runs        int     `json:"runs"`
	Rate        int     `json:"rate"`
	Seconds     float64 `json:"seconds"`
	Writers     int     `json:"writers"`
	Replicas    int     `json:"replicas"`
	Rounds      int     `json:"rounds"`
	Concurrency int     `json:"concurrency"`
}

// Measurement is one of Names.
type Measurement struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Cases   []*Case  `json:"cases"`
	Notes   []string `json:"notes"`
	Seconds float64  `json:"seconds"` // it took, with all that was prepared
}

// Case is one of the things that a measurement compares.
type Case struct {
	Name string `json:"case"`
	// Runs were measured in all rounds together, and ended DONE (insert: were inserted).
	Runs    int       `json:"runs"`
	Figures []*Figure `json:"figures"`
}

// Figure is the median of the rounds.
type Figure struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Least float64 `json:"least"`
	Most  float64 `json:"most"`

	rounds []float64
}

// add takes the figure of a round.
func (c *Case) add(name, unit string, value float64) {
	f := c.figure(name)
	if f == nil {
		f = &Figure{Name: name, Unit: unit}
		c.Figures = append(c.Figures, f)
	}
	f.rounds = append(f.rounds, value)
	f.Value, f.Least, f.Most = median(f.rounds), percentile(f.rounds, 0), percentile(f.rounds, 100)
}

// spread takes p50, p95 and p99 of a round's values, in ms.
func (c *Case) spread(name string, values []float64) {
	for _, p := range []struct {
		name string
		at   float64
	}{{"_p50", 50}, {"_p95", 95}, {"_p99", 99}} {
		c.add(name+p.name, "ms", percentile(values, p.at))
	}
}

// figure is the one of that name; nil: there is none.
func (c *Case) figure(name string) *Figure {
	for _, f := range c.Figures {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// compare adds what the case's figure is of another's, in percent.
func (c *Case) compare(name, figure string, with *Case) {
	mine, theirs := c.figure(figure), with.figure(figure)
	if mine != nil && theirs != nil && theirs.Value > 0 {
		c.add(name, "%", 100*mine.Value/theirs.Value)
	}
}
