package planfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

// Plan is a plan as it was read.
type Plan struct {
	Name          string
	Project       string
	ParallelLimit *int
	OnFailure     *string
	OnFinish      *string
	Tasks         []store.WantedTask
	// Ignored are files that are left out, and why.
	Ignored []string
}

// Options complete what the files say.
type Options struct {
	// Name is the plan's; "": that of the file, or of the directory.
	Name string
	// Project is the plan's; "": the file's, or the default.
	Project string
	// Database is the target of all migrations of a directory; "": each has the name of a folder in it.
	Database string
	// Databases, where not nil, each get every migration of a directory.
	Databases []string
}

const (
	maxNameBytes = 200
	maxDocument  = 1 << 20 // what the database takes of one payload
)

// Read reads a directory or a file. What is wrong in it is said with the place where it stands.
func Read(path string, o Options) (Plan, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Plan{}, cli.Usagef("%w", err)
	}
	var plan Plan
	switch {
	case info.IsDir() && o.Databases != nil:
		if plan, err = readDirectory(path, "*"); err == nil {
			plan.Tasks = forEach(o.Databases, plan.Tasks)
		}
	case info.IsDir():
		plan, err = readDirectory(path, o.Database)
	case o.Databases != nil:
		err = cli.Usagef("--to is for a directory: in %s each task names its own", path)
	case o.Database != "":
		err = cli.Usagef("--database is for a directory: in %s each task names its own", path)
	default:
		plan, err = readYAML(path)
	}
	if err != nil {
		return Plan{}, err
	}
	if o.Name != "" {
		plan.Name = o.Name
	}
	if plan.Name == "" {
		full, err := filepath.Abs(path)
		if err != nil {
			return Plan{}, fmt.Errorf("name the plan: %w", err)
		}
		plan.Name = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(full), ".yaml"), ".yml")
	}
	if o.Project != "" {
		plan.Project = o.Project
	}
	if plan.Project == "" {
		plan.Project = "default"
	}
	return plan, plan.check(path)
}

// check holds a plan to what the database takes, so that all that is wrong is said with its file.
// forEach gives each database all of the tasks, named as those of a folder of that name are.
func forEach(databases []string, tasks []store.WantedTask) []store.WantedTask {
	all := make([]store.WantedTask, 0, len(databases)*len(tasks))
	for _, database := range databases {
		for _, task := range tasks {
			task.Name, task.DatabaseID = database+"/"+task.Name, &database
			all = append(all, task)
		}
	}
	return all
}

func (p *Plan) check(path string) error {
	if len(p.Tasks) == 0 {
		return cli.Usagef("%s: has no task; accepted: V1__name.sql, V1.1__name.sql and so on, in a folder for each database, or a YAML file", path)
	}
	names := map[string]bool{}
	versions := map[string]string{}
	for _, t := range p.Tasks {
		switch {
		case t.Name == "" || len(t.Name) > maxNameBytes:
			return cli.Usagef("%s: the name %q is not accepted; accepted: 1 to %d bytes", path, t.Name, maxNameBytes)
		case names[t.Name]:
			return cli.Usagef("%s: two tasks are named %q", path, t.Name)
		case len(t.Payload) > maxDocument:
			return cli.Usagef("%s: %s has more than %d bytes, which the database doesn't take of one task; split it", path, t.Name, maxDocument)
		}
		names[t.Name] = true
		if t.Type != "DATABASE_MIGRATE" || t.DatabaseID == nil || t.Version == nil {
			continue
		}
		key := *t.DatabaseID + "\x00" + Canonical(*t.Version)
		if other, twice := versions[key]; twice {
			return cli.Usagef("%s: %s and %s have the same version %s of %s: nothing says which goes first", path, other, t.Name, *t.Version, *t.DatabaseID)
		}
		versions[key] = t.Name
	}
	for _, t := range p.Tasks {
		for _, name := range t.DependsOn {
			if !names[name] {
				return cli.Usagef("%s: task %q depends on %q, which isn't among them", path, t.Name, name)
			}
		}
	}
	return nil
}

// Canonical is a version without what makes no difference: 1.0 = 1, 01 = 1.
func Canonical(version string) string {
	parts := strings.Split(version, ".")
	last := 0
	for i, part := range parts {
		parts[i] = strings.TrimLeft(part, "0")
		if parts[i] != "" {
			last = i + 1
		}
	}
	return strings.Join(parts[:last], ".")
}

// migration completes a task whose payload are statements.
func statements(text, source string, transaction bool) (json.RawMessage, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return nil, cli.Usagef("%s: is not UTF-8 text", source)
	}
	if strings.TrimSpace(text) == "" {
		return nil, cli.Usagef("%s: is empty", source)
	}
	payload := struct {
		SQL         string `json:"sql"`
		Transaction *bool  `json:"transaction,omitempty"`
	}{SQL: text}
	if !transaction {
		payload.Transaction = &transaction
	}
	return json.Marshal(payload)
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
