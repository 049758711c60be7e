//go:build linux

package cmdexec

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const defaultGrace = 5 * time.Second

// command is a Command that was found right.
type command struct {
	path  string
	dir   string
	env   []string // sorted NAME=value, without the run's own
	args  []argument
	types map[string]valueType
}

func newCommand(c Command) (*command, error) {
	if err := checkExecutable(c.Path); err != nil {
		return nil, err
	}
	dir := c.Dir
	if dir == "" {
		dir = "/"
	}
	if info, err := os.Stat(dir); !filepath.IsAbs(dir) || err != nil || !info.IsDir() {
		return nil, fmt.Errorf("dir %q: want the absolute path of a directory", dir)
	}
	env, err := environment(c.Env)
	if err != nil {
		return nil, err
	}
	made := &command{path: c.Path, dir: dir, env: env, types: map[string]valueType{}}
	afterDashes := false
	for _, text := range c.Args {
		arg, err := parseArgument(text)
		if err != nil {
			return nil, fmt.Errorf("argument %q: %w", text, err)
		}
		arg.afterDashes = afterDashes
		afterDashes = afterDashes || text == "--"
		made.args = append(made.args, arg)
		for _, p := range arg.pieces {
			if p.name != "" {
				made.types[p.name] = valueType{kind: "string"}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Types)) {
		if _, known := made.types[name]; !known {
			return nil, fmt.Errorf("types names %q, but no argument has {%s}", name, name)
		}
		if made.types[name], err = parseType(c.Types[name]); err != nil {
			return nil, fmt.Errorf("type of %q: %w", name, err)
		}
	}
	return made, nil
}

func checkExecutable(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("path %q: want the absolute path of an executable file", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if !info.Mode().IsRegular() || unix.Access(path, unix.X_OK) != nil {
		return fmt.Errorf("path %q: not an executable file", path)
	}
	return nil
}

// environment lays the configured variables over the two that every command gets.
func environment(extra map[string]string) ([]string, error) {
	vars := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
	for name, value := range extra {
		switch {
		case !isName(name):
			return nil, fmt.Errorf("env %q: want a name of letters, digits and _", name)
		case strings.HasPrefix(name, "ROWRUN_"):
			return nil, fmt.Errorf("env %q: names starting with ROWRUN_ are the sidecar's", name)
		case strings.ContainsRune(value, 0):
			return nil, fmt.Errorf("env %q: the value has a NUL", name)
		}
		vars[name] = value
	}
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env, nil
}

// isName is true for what names a placeholder or a variable.
func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func (cfg Config) validate() (map[string]*command, error) {
	if cfg.Grace < 0 {
		return nil, errors.New("the grace period is below 0")
	}
	commands := map[string]*command{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Commands)) {
		if name == "" {
			return nil, errors.New("a command has no name")
		}
		c, err := newCommand(cfg.Commands[name])
		if err != nil {
			return nil, fmt.Errorf("command %q: %w", name, err)
		}
		commands[name] = c
	}
	return commands, nil
}
