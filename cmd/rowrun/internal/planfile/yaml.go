package planfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

// planYAML is a plan in a file.
type planYAML struct {
	Plan          string     `yaml:"plan"`
	Project       string     `yaml:"project"`
	ParallelLimit *int       `yaml:"parallel_limit"`
	OnFailure     *string    `yaml:"on_failure"`
	OnFinish      *string    `yaml:"on_finish"`
	Tasks         []taskYAML `yaml:"tasks"`
}

// taskYAML is a task in it. What isn't there is the column's default.
type taskYAML struct {
	Name            string         `yaml:"name"`
	Type            string         `yaml:"type"`
	Queue           *string        `yaml:"queue"`
	Database        *string        `yaml:"database"`
	Version         *string        `yaml:"version"`
	Sequential      *bool          `yaml:"sequential"`
	SQL             *string        `yaml:"sql"`
	File            *string        `yaml:"file"`
	Transaction     *bool          `yaml:"transaction"`
	Payload         map[string]any `yaml:"payload"`
	Priority        *int           `yaml:"priority"`
	Timeout         *duration      `yaml:"timeout"`
	ProgressTimeout *duration      `yaml:"progress_timeout"`
	MaxAttempts     *int           `yaml:"max_attempts"`
	RetryDelay      *duration      `yaml:"retry_delay"`
	OnStale         *string        `yaml:"on_stale"`
	Aging           *duration      `yaml:"aging"`
	Retention       *retention     `yaml:"retention"`
	FailureLogLevel *string        `yaml:"failure_log_level"`
	Labels          map[string]any `yaml:"labels"`
	DependsOn       []string       `yaml:"depends_on"`
}

func (p *planYAML) UnmarshalYAML(node *yaml.Node) error {
	type plain planYAML
	if err := onlyKeys(node, "plan", "project", "parallel_limit", "on_failure", "on_finish", "tasks"); err != nil {
		return err
	}
	return node.Decode((*plain)(p))
}

func (t *taskYAML) UnmarshalYAML(node *yaml.Node) error {
	type plain taskYAML
	err := onlyKeys(node, "name", "type", "queue", "database", "version", "sequential", "sql", "file", "transaction", "payload", "priority",
		"timeout", "progress_timeout", "max_attempts", "retry_delay", "on_stale", "aging", "retention", "failure_log_level", "labels", "depends_on")
	if err != nil {
		return err
	}
	for i := 0; i < len(node.Content); i += 2 { // 1.10 is a version and no number
		if node.Content[i].Value == "version" && node.Content[i+1].Kind == yaml.ScalarNode {
			node.Content[i+1].Tag = "!!str"
		}
	}
	return node.Decode((*plain)(t))
}

type duration time.Duration

// UnmarshalYAML refuses what is no duration.
func (d *duration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := time.ParseDuration(node.Value)
	if node.Value != "0" && err != nil || parsed < 0 {
		return fmt.Errorf("line %d: %q is not accepted; accepted: a duration such as 500ms, 5s or 10m", node.Line, node.Value)
	}
	*d = duration(parsed)
	return nil
}

// retention is how long ended runs are kept: all of them, or those of each status that is named.
type retention struct {
	all      *duration
	byStatus map[string]duration
}

func (r *retention) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return node.Decode(&r.all)
	}
	if err := onlyKeys(node, "DONE", "FAILED", "CANCELED"); err != nil {
		return err
	}
	return node.Decode(&r.byStatus)
}

// apply writes it into a task.
func (r *retention) apply(task *store.WantedTask) {
	if r == nil {
		return
	}
	task.Retention = seconds(r.all)
	for status, d := range r.byStatus {
		if task.RetentionByStatus == nil {
			task.RetentionByStatus = map[string]string{}
		}
		task.RetentionByStatus[status] = strconv.FormatFloat(time.Duration(d).Seconds(), 'f', -1, 64) + " s"
	}
}

func onlyKeys(node *yaml.Node, keys ...string) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: a mapping is expected here, with the keys %s", node.Line, strings.Join(keys, ", "))
	}
	for i := 0; i < len(node.Content); i += 2 {
		if key := node.Content[i]; !slices.Contains(keys, key.Value) {
			return fmt.Errorf("line %d: unknown key %q; accepted: %s%s", key.Line, key.Value, strings.Join(keys, ", "), cli.DidYouMean(key.Value, keys))
		}
	}
	return nil
}

func readYAML(path string) (Plan, error) {
	file, err := os.Open(path)
	if err != nil {
		return Plan{}, cli.Usagef("%w", err)
	}
	defer func() { _ = file.Close() }()
	decoder := yaml.NewDecoder(file)
	var read planYAML
	if err := decoder.Decode(&read); err != nil && !errors.Is(err, io.EOF) {
		return Plan{}, cli.Usagef("%s: %w", path, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Plan{}, cli.Usagef("%s: one YAML document is accepted, a second one follows", path)
	}
	plan := Plan{Name: read.Plan, Project: read.Project, ParallelLimit: read.ParallelLimit, OnFailure: read.OnFailure, OnFinish: read.OnFinish}
	for i := range read.Tasks {
		task, err := read.Tasks[i].task(path)
		if err != nil {
			return Plan{}, cli.Usagef("%s: task %q: %w", path, read.Tasks[i].Name, err)
		}
		plan.Tasks = append(plan.Tasks, task)
	}
	return plan, nil
}

// task is what the file says of it.
func (t *taskYAML) task(path string) (store.WantedTask, error) {
	task := store.WantedTask{
		Name: t.Name, Type: t.Type, Queue: t.Queue, DatabaseID: t.Database, Version: t.Version, Sequential: t.Sequential, Priority: t.Priority,
		Timeout: seconds(t.Timeout), ProgressTimeout: seconds(t.ProgressTimeout), MaxAttempts: t.MaxAttempts, RetryDelay: seconds(t.RetryDelay),
		OnStale: t.OnStale, DependsOn: t.DependsOn, Aging: seconds(t.Aging), FailureLogLevel: t.FailureLogLevel,
	}
	t.Retention.apply(&task)
	var err error
	if task.Payload, err = t.payload(path); err != nil {
		return task, err
	}
	if task.Type == "" {
		switch {
		case t.SQL == nil && t.File == nil:
			return task, errors.New("type is missing; with sql or file it is SQL, with a version too DATABASE_MIGRATE")
		case t.Version != nil:
			task.Type = "DATABASE_MIGRATE"
		default:
			task.Type = "SQL"
		}
	}
	said, err := json.Marshal(task) // without labels: they change nothing of what is run
	if err != nil {
		return task, err
	}
	task.Hash = hashOf(said)
	task.Labels = t.Labels
	return task, nil
}

func (t *taskYAML) payload(path string) (json.RawMessage, error) {
	given := 0
	for _, there := range []bool{t.SQL != nil, t.File != nil, t.Payload != nil} {
		if there {
			given++
		}
	}
	transaction := t.Transaction == nil || *t.Transaction
	switch {
	case given > 1:
		return nil, errors.New("only one of sql, file and payload says what is run")
	case t.SQL != nil:
		return statements(*t.SQL, "sql", transaction)
	case t.File != nil:
		file := *t.File
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return statements(string(content), file, transaction && inTransaction(string(content), headComment()))
	case t.Transaction != nil:
		return nil, errors.New("transaction goes with sql or file")
	case t.Payload == nil:
		return json.RawMessage("{}"), nil
	}
	return json.Marshal(t.Payload)
}

func seconds(d *duration) *float64 {
	if d == nil {
		return nil
	}
	s := time.Duration(*d).Seconds()
	return &s
}
