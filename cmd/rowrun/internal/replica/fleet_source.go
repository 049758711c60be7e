package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.yaml.in/yaml/v3"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/scheduler/sqlexec"
)

const (
	// maxFleet is how many targets a source may give: one that gives more is read as a mistake.
	maxFleet = 10000
	// maxSourceBytes is how long a file of targets may be.
	maxSourceBytes = 16 << 20
	// catalogTimeout bounds the question to a catalogue, connecting included.
	catalogTimeout = 20 * time.Second
	defaultRefresh = 30 * time.Second
)

// FleetSource is where targets come from: an entry of databases_from. One of File, Directory and Query is given.
type FleetSource struct {
	// File is YAML, as databases: is; Directory has a file for each target, named after it, with a URL or such a mapping.
	File      string `yaml:"file"`
	Directory string `yaml:"directory"`
	// Query is asked of the PostgreSQL database of URL. Its rows have name, and url where Target doesn't say it; each other column
	// is a label.
	Query string `yaml:"query"`
	URL   string `yaml:"url"`
	// Target is the URL of each row, with {column} for its values.
	Target           string            `yaml:"target"`
	Labels           map[string]string `yaml:"labels"`
	Refresh          FileDuration      `yaml:"refresh"`
	LockTimeout      FileDuration      `yaml:"lock_timeout"`
	StatementTimeout FileDuration      `yaml:"statement_timeout"`
}

// UnmarshalYAML refuses keys that are not accepted.
func (s *FleetSource) UnmarshalYAML(node *yaml.Node) error {
	type plain FleetSource
	err := onlyKeys(node, "file", "directory", "query", "url", "target", "labels", "refresh", "lock_timeout", "statement_timeout")
	if err != nil {
		return err
	}
	if err := node.Decode((*plain)(s)); err != nil {
		return err
	}
	return checkTimeouts(node, s.LockTimeout, s.StatementTimeout)
}

// check refuses what can't be a source.
func (s *FleetSource) check() error {
	given := 0
	for _, text := range []string{s.File, s.Directory, s.Query} {
		if text != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("one of file, directory and query says where targets come from")
	case s.Query == "" && (s.URL != "" || s.Target != ""):
		return errors.New("url and target go with query")
	case s.Query != "" && s.URL == "":
		return errors.New("url is missing: the database that the query is asked of")
	}
	return nil
}

// resolve replaces env:NAME and file:PATH in the URLs of a query.
func (s FleetSource) resolve(place string, lookup func(string) (string, bool)) (FleetSource, error) {
	if err := s.check(); err != nil {
		return s, cli.Usagef("%s: %w", place, err)
	}
	if s.Refresh == 0 {
		s.Refresh = FileDuration(defaultRefresh)
	}
	if s.Query == "" {
		return s, nil
	}
	var err error
	if s.URL, err = database.ResolveURL(place+".url", s.URL, lookup); err != nil {
		return s, err
	}
	s.Target, err = cli.ResolveSecret(place+".target", s.Target, lookup)
	return s, err
}

// String names a source without its URL.
func (s *FleetSource) String() string {
	switch {
	case s.File != "":
		return "file " + s.File
	case s.Directory != "":
		return "directory " + s.Directory
	}
	return "query"
}

// read gives the targets that there are now. Its error never shows a URL.
func (s *FleetSource) read(ctx context.Context, lookup func(string) (string, bool)) (map[string]FileDatabase, error) {
	var found map[string]FileDatabase
	var err error
	switch {
	case s.File != "":
		found, err = readFleetFile(s.File)
	case s.Directory != "":
		found, err = readFleetDirectory(s.Directory)
	default:
		found, err = s.ask(ctx)
		lookup = func(string) (string, bool) { return "", false } // a row names no variable
	}
	if err != nil {
		return nil, err
	}
	if len(found) > maxFleet {
		return nil, fmt.Errorf("more than %d targets", maxFleet)
	}
	for name, target := range found {
		if !goodTargetName(name) {
			return nil, fmt.Errorf("%q can't be the name of a target; accepted: 1 to 200 bytes that can be printed", name)
		}
		if target, err = target.Resolve(name, lookup); err != nil {
			return nil, err
		}
		labels := maps.Clone(s.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, target.Labels)
		target.Labels = labels
		if target.LockTimeout == 0 {
			target.LockTimeout = s.LockTimeout
		}
		if target.StatementTimeout == 0 {
			target.StatementTimeout = s.StatementTimeout
		}
		found[name] = target
	}
	return found, nil
}

func goodTargetName(name string) bool {
	return name != "" && len(name) <= 200 && cli.Printable(name) == name
}

func readFleetFile(path string) (map[string]FileDatabase, error) {
	content, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	found := map[string]FileDatabase{}
	if err := yaml.Unmarshal(content, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return found, nil
}

// readFleetDirectory reads a file for each target: shop or shop.yaml is the target shop. Names that begin with a dot are left out.
func readFleetDirectory(dir string) (map[string]FileDatabase, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := map[string]FileDatabase{}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if info, err := os.Stat(path); strings.HasPrefix(entry.Name(), ".") || err == nil && !info.Mode().IsRegular() {
			continue
		}
		content, err := readBounded(path)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(strings.TrimSuffix(entry.Name(), ".yaml"), ".yml")
		if _, twice := found[name]; twice {
			return nil, fmt.Errorf("%s: two files are of the target %s", dir, name)
		}
		var target FileDatabase
		if name != entry.Name() {
			if err := yaml.Unmarshal(content, &target); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		} else {
			target.URL = strings.TrimSpace(string(content))
		}
		if target.URL == "" {
			return nil, fmt.Errorf("%s: has no url", path)
		}
		found[name] = target
	}
	return found, nil
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxSourceBytes+1))
	if err == nil && len(content) > maxSourceBytes {
		err = fmt.Errorf("%s: has more than %d bytes", path, maxSourceBytes)
	}
	return content, err
}

// ask reads the targets of a catalogue, in a transaction that may only read.
func (s *FleetSource) ask(ctx context.Context) (map[string]FileDatabase, error) {
	ctx, cancel := context.WithTimeout(ctx, catalogTimeout)
	defer cancel()
	config, err := pgconn.ParseConfig(s.URL)
	if err != nil {
		return nil, errors.New("url is not one that PostgreSQL understands") // the parser's own text quotes it
	}
	config.BuildFrontend = sqlexec.BoundedFrontend
	config.RuntimeParams["application_name"] = "rowrun databases_from"
	config.RuntimeParams["default_transaction_read_only"] = "on"
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		if outer, ok := errors.AsType[*pgconn.ConnectError](err); ok {
			err = outer.Unwrap()
		}
		return nil, fmt.Errorf("connect to the catalogue: %w", err)
	}
	defer func() {
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer done()
		_ = conn.Close(closing)
	}()
	rows := conn.ExecParams(ctx, s.Query, nil, nil, nil, nil)
	found := map[string]FileDatabase{}
	for rows.NextRow() {
		if len(found) > maxFleet {
			break
		}
		row := map[string]string{}
		for i, value := range rows.Values() {
			if value != nil {
				row[rows.FieldDescriptions()[i].Name] = string(bytes.Clone(value))
			}
		}
		name := row["name"]
		if _, twice := found[name]; twice || name == "" {
			_, _ = rows.Close()
			return nil, fmt.Errorf("the query's rows have a column name, of which each value is one target's; found: %q", name)
		}
		target, err := s.target(row)
		if err != nil {
			_, _ = rows.Close()
			return nil, fmt.Errorf("target %q: %w", name, err)
		}
		found[name] = target
	}
	if _, err := rows.Close(); err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("ask the catalogue: %w", err)
	}
	return found, ctx.Err()
}

// Targets are all targets of the file, those of databases_from as they are now, by name. Where a source can't be read that is an error.
// A name that comes twice is the first one's; databases come before databases_from.
func (c *File) Targets(ctx context.Context, lookup func(string) (string, bool)) (map[string]FileDatabase, error) {
	found := map[string]FileDatabase{}
	for name, target := range c.Databases {
		resolved, err := target.Resolve("databases."+name, lookup)
		if err != nil {
			return nil, err
		}
		found[name] = resolved
	}
	for i, source := range c.DatabasesFrom {
		source, err := source.resolve(fmt.Sprintf("databases_from[%d]", i), lookup)
		if err != nil {
			return nil, err
		}
		targets, err := source.read(ctx, lookup)
		if err != nil {
			return nil, fmt.Errorf("databases_from[%d] (%s): %w", i, source.String(), err)
		}
		for _, name := range slices.Sorted(maps.Keys(targets)) {
			if _, taken := found[name]; !taken {
				found[name] = targets[name]
			}
		}
	}
	return found, nil
}
