package replica

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/store/connect"
)

const shardFlag = "--shard"

// Shard is one of several databases of Rowrun's that one process serves.
type Shard struct {
	Name     string
	Database database.Config
}

// fileShard is a shard in the file.
type fileShard struct {
	URL       string `yaml:"url"`
	DirectURL string `yaml:"direct_url"`
}

// RegisterShards adds --shard.
func (c *Config) RegisterShards(flags *pflag.FlagSet) {
	flags.StringArrayVar(&c.shards, "shard", nil, "`NAME=URL` of one of several databases that this process serves instead of --database-url; the URL also as env:VARIABLE or file:PATH; once for each, or separated by commas")
}

// resolveDatabases finds the database, or the shards.
func (c *Config) resolveDatabases(lookup func(string) (string, bool)) error {
	given := splitShards(c.shards)
	source := shardFlag
	if len(c.File.Shards) > 0 {
		if len(given) > 0 {
			return cli.Usagef("--shard and shards in the file of --config are two ways to say the same: give one of them")
		}
		source = "shards in the file of --config"
	}
	if len(given) == 0 && len(c.File.Shards) == 0 {
		return c.Database.Resolve(lookup)
	}
	if c.Database.URL != "" || c.Database.DirectURL != "" {
		return cli.Usagef("%s: is not accepted together with --database-url or --direct-url: give that database a name, and it is a shard like the others", source)
	}
	if value, ok := lookup("DATABASE_URL"); ok && value != "" {
		return cli.Usagef("%s: is not accepted together with DATABASE_URL: unset it, and name that database as a shard where it is one", source)
	}
	for _, text := range given {
		name, url, found := strings.Cut(text, "=")
		if !found || url == "" {
			return cli.Usagef("--shard: a value is not accepted; accepted: NAME=URL, where URL is %s", database.URLForm)
		}
		if err := c.addShard(shardFlag+" "+name, name, fileShard{URL: url}, lookup); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.File.Shards)) {
		if err := c.addShard("shards."+name, name, c.File.Shards[name], lookup); err != nil {
			return err
		}
	}
	slices.SortFunc(c.Shards, func(a, b Shard) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func (c *Config) addShard(source, name string, given fileShard, lookup func(string) (string, bool)) error {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`).MatchString(name) {
		return cli.Usagef("%s: %q is not accepted as a name; accepted: lower-case letters, digits, - and _, at most 63, such as eu-1", shardFlag, cli.Printable(name))
	}
	one := Shard{Name: name, Database: database.Config{Way: connect.Way{URL: given.URL, DirectURL: given.DirectURL}}}
	if err := one.Database.ResolveAs(source, source+".direct_url", lookup); err != nil {
		return err
	}
	for _, other := range c.Shards {
		switch {
		case other.Name == name:
			return cli.Usagef("%s: is given twice", source)
		case other.Database.URL == one.Database.URL:
			return cli.Usagef("%s: is the database of shard %s: each shard has its own", source, other.Name)
		}
	}
	c.Shards = append(c.Shards, one)
	return nil
}

// validateShards refuses what doesn't go together with several shards.
func (c *Config) validateShards() error {
	switch {
	case len(c.Shards) == 0 || c.Admin():
		return nil
	case c.Concurrency < len(c.Shards):
		return cli.Usagef("--concurrency: %d is not accepted with %d shards; accepted: at least one slot for each", c.Concurrency, len(c.Shards))
	case c.RecoveryConcurrency > c.Concurrency:
		return cli.Usagef("--recovery-concurrency: %d is not accepted with shards; accepted: at most --concurrency (%d), which all shards share", c.RecoveryConcurrency, c.Concurrency)
	}
	return nil
}

// splitShards separates what one variable holds. A comma separates shards where a name and the beginning of a URL follow it; another
// one is part of a URL with several hosts.
func splitShards(given []string) (all []string) {
	next := regexp.MustCompile(`,\s*[a-z0-9][a-z0-9_-]*=(env:|file:|postgres://|postgresql://)`)
	for _, text := range given {
		for {
			at := next.FindStringIndex(text)
			if at == nil {
				break
			}
			all, text = append(all, strings.TrimSpace(text[:at[0]])), text[at[0]+1:]
		}
		all = append(all, strings.TrimSpace(text))
	}
	return all
}

// names of the shards, in their order.
func (c *Config) shardNames() (all []string) {
	for _, s := range c.Shards {
		all = append(all, s.Name)
	}
	return all
}

// of is the configuration of one shard's replica.
func (c *Config) of(s Shard) *Config {
	one := *c
	one.Database, one.Shards = s.Database, nil
	return &one
}
