package replica

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/notifier/webhook"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/targets"
)

// File is the YAML file of --config: what does not fit into flags.
type File struct {
	// Databases are the targets that SQL and DATABASE_MIGRATE tasks name in database_id.
	Databases map[string]FileDatabase `yaml:"databases"`
	// Shards are what --shard names, with the direct way to each.
	Shards map[string]fileShard `yaml:"shards"`
	// DatabasesFrom are places where more of them come from.
	DatabasesFrom []FleetSource `yaml:"databases_from"`
	// Commands are what COMMAND tasks may run, by name.
	Commands map[string]fileCommand `yaml:"commands"`
	// Types are what this replica allows runs of a type, whoever's executor runs them.
	Types map[string]fileType `yaml:"types"`
	// WebhookSecrets are the env:NAME and file:PATH that rows of webhook may name as secret_ref or url.
	WebhookSecrets []string `yaml:"webhook_secrets"`
}

// FileDatabase is one target. A timeout of 0 leaves the server's own. Kind is the engine's name, "": as the URL says.
type FileDatabase struct {
	URL              string       `yaml:"url"`
	Kind             string       `yaml:"engine"`
	LockTimeout      FileDuration `yaml:"lock_timeout"`
	StatementTimeout FileDuration `yaml:"statement_timeout"`
	// Labels are what plan apply --to chooses by.
	Labels map[string]string `yaml:"labels"`
}

// fileCommand is one program: never a shell line.
type fileCommand struct {
	Path  string            `yaml:"path"`
	Args  []string          `yaml:"args"`
	Types map[string]string `yaml:"types"`
	Env   map[string]string `yaml:"env"`
	Dir   string            `yaml:"dir"`
}

// fileType is what a replica allows runs of one type. Without a timeout they have that of --task-timeout.
type fileType struct {
	Concurrency fileCount     `yaml:"concurrency"`
	Timeout     *FileDuration `yaml:"timeout"`
}

// fileCount is a number in the file, from 1 on; 0: none was given.
type fileCount int

// FileDuration is a time in the file, such as 500ms.
type FileDuration time.Duration

// ReadFile reads the file of --config; an empty path is an empty file.
func ReadFile(path string) (File, error) {
	var config File
	if path == "" {
		return config, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return config, cli.Usagef("--config: %w", err)
	}
	defer func() { _ = file.Close() }()

	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	if err := decoder.Decode(&config); err != nil && !errors.Is(err, io.EOF) {
		return config, cli.Usagef("--config %s: %w", path, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return config, cli.Usagef("--config %s: one YAML document is accepted, a second one follows", path)
	}
	return config, config.check(path)
}

// check refuses what says too little, or what it may not.
func (c *File) check(path string) error {
	for name, target := range c.Databases {
		if name == "" || target.URL == "" {
			return cli.Usagef("--config %s: databases.%s.url is missing; accepted: %s; or mysql://…, mariadb://…, sqlite:/path", path, name, database.URLForm)
		}
	}
	for name, shard := range c.Shards {
		if shard.URL == "" {
			return cli.Usagef("--config %s: shards.%s.url is missing; accepted: %s", path, name, database.URLForm)
		}
	}
	for i := range c.DatabasesFrom {
		if err := c.DatabasesFrom[i].check(); err != nil {
			return cli.Usagef("--config %s: databases_from[%d]: %w", path, i, err)
		}
	}
	for name, command := range c.Commands {
		if name == "" || command.Path == "" {
			return cli.Usagef("--config %s: commands.%s.path is missing; accepted: an absolute path", path, name)
		}
	}
	for name, limit := range c.Types {
		if err := scheduler.CheckWord(name); err != nil {
			return cli.Usagef("--config %s: types: %w", path, err)
		}
		if limit.Concurrency == 0 && limit.Timeout == nil {
			return cli.Usagef("--config %s: types.%s says nothing; accepted: concurrency, timeout", path, name)
		}
	}
	for _, reference := range c.WebhookSecrets {
		if !webhook.IsReference(reference) {
			return cli.Usagef("--config %s: webhook_secrets: an entry is neither env:NAME nor file:PATH; "+
				"accepted: what webhooks name as secret_ref or url, never the secret itself", path)
		}
	}
	return nil
}

// Resolve replaces env:NAME and file:PATH in the URLs and checks them.
func (c *File) Resolve(lookup func(string) (string, bool)) error {
	for name, target := range c.Databases {
		resolved, err := target.Resolve("databases."+name, lookup)
		if err != nil {
			return err
		}
		c.Databases[name] = resolved
	}
	for i, source := range c.DatabasesFrom {
		resolved, err := source.resolve(fmt.Sprintf("databases_from[%d]", i), lookup)
		if err != nil {
			return err
		}
		c.DatabasesFrom[i] = resolved
	}
	return nil
}

// The decoder's own error for an unknown key names a Go type and not what is
// accepted; so each mapping checks its keys itself.

// UnmarshalYAML refuses keys that are not accepted.
func (c *File) UnmarshalYAML(node *yaml.Node) error {
	type plain File
	if err := onlyKeys(node, "databases", "databases_from", "commands", "types", "webhook_secrets", "shards"); err != nil {
		return err
	}
	return node.Decode((*plain)(c))
}

// UnmarshalYAML refuses keys that are not accepted.
func (d *FileDatabase) UnmarshalYAML(node *yaml.Node) error {
	type plain FileDatabase
	if err := onlyKeys(node, "url", "engine", "lock_timeout", "statement_timeout", "labels"); err != nil {
		return err
	}
	if err := node.Decode((*plain)(d)); err != nil {
		return err
	}
	return checkTimeouts(node, d.LockTimeout, d.StatementTimeout)
}

// checkTimeouts refuses what no target can be told.
func checkTimeouts(node *yaml.Node, lock, statement FileDuration) error {
	if err := targets.CheckTimeouts(time.Duration(lock), time.Duration(statement)); err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	return nil
}

func (s *fileShard) UnmarshalYAML(node *yaml.Node) error {
	type plain fileShard
	if err := onlyKeys(node, "url", "direct_url"); err != nil {
		return err
	}
	return node.Decode((*plain)(s))
}

func (c *fileCommand) UnmarshalYAML(node *yaml.Node) error {
	type plain fileCommand
	if err := onlyKeys(node, "path", "args", "types", "env", "dir"); err != nil {
		return err
	}
	return node.Decode((*plain)(c))
}

func (t *fileType) UnmarshalYAML(node *yaml.Node) error {
	type plain fileType
	if err := onlyKeys(node, "concurrency", "timeout"); err != nil {
		return err
	}
	return node.Decode((*plain)(t))
}

// UnmarshalYAML refuses what is no number of runs.
func (c *fileCount) UnmarshalYAML(node *yaml.Node) error {
	n, err := strconv.Atoi(node.Value)
	if err != nil || n < 1 || n > 10000 {
		return fmt.Errorf("line %d: %q is not accepted; accepted: 1 to 10000", node.Line, node.Value)
	}
	*c = fileCount(n)
	return nil
}

// typeLimits are Types as the scheduler takes them.
func (c *File) typeLimits() map[string]scheduler.TypeLimit {
	limits := make(map[string]scheduler.TypeLimit, len(c.Types))
	for name, given := range c.Types {
		limits[name] = scheduler.TypeLimit{Concurrency: int(given.Concurrency), Timeout: (*time.Duration)(given.Timeout)}
	}
	return limits
}

// UnmarshalYAML refuses what is no duration.
func (d *FileDuration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := time.ParseDuration(node.Value)
	if err != nil || parsed < 0 {
		return fmt.Errorf("line %d: %q is not accepted; accepted: a duration such as 500ms, 5s or 10m", node.Line, node.Value)
	}
	*d = FileDuration(parsed)
	return nil
}

func onlyKeys(node *yaml.Node, keys ...string) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: a mapping is expected here, with the keys %s", node.Line, strings.Join(keys, ", "))
	}
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		if !slices.Contains(keys, key.Value) {
			return fmt.Errorf("line %d: unknown key %q; accepted: %s", key.Line, key.Value, strings.Join(keys, ", "))
		}
	}
	return nil
}
