// Command mutants takes guards out of a throwaway copy of the tree, one at a time, and has the rig of integration/chaos look
// for what then goes wrong: a rig that stays green without a guard says nothing about it. `make mutants` runs it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mutant is one guard removed: in each of the files, separated by spaces, before becomes after, wherever it stands (at least once).
// faults is a regular expression of those that it is for; empty: of any kind.
type mutant struct{ name, files, before, after, faults string }

// changed is what the files of a mutant become.
func (m mutant) changed(dir string) (texts map[string][]byte, err error) {
	texts = map[string][]byte{}
	for _, file := range strings.Fields(m.files) {
		text, err := os.ReadFile(filepath.Join(dir, file)) //nolint:gosec // of the table
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(text, []byte(m.before)) {
			return nil, fmt.Errorf("%s: its text isn't in %s", m.name, file)
		}
		texts[file] = bytes.ReplaceAll(text, []byte(m.before), []byte(m.after))
	}
	return texts, nil
}

// settings are those of the command line.
type settings struct {
	source, only string
	seed         int64
	seconds      int
	check        bool
}

func main() {
	var s settings
	flag.StringVar(&s.source, "source", ".", "the tree")
	flag.StringVar(&s.only, "only", "", "regular expression of the names of mutants; empty: all")
	flag.Int64Var(&s.seed, "seed", 1, "the first seed")
	flag.IntVar(&s.seconds, "seconds", 60, "after which no further schedule is begun for a mutant")
	flag.BoolVar(&s.check, "check", false, "only look whether each text is found")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings, out io.Writer) error {
	wanted, err := regexp.Compile(s.only)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(table(), func(m mutant) bool { return !wanted.MatchString(m.name) })
	for _, m := range chosen {
		if _, err := m.changed(s.source); err != nil {
			return err
		}
	}
	if s.check {
		_, err = fmt.Fprintf(out, "%d mutants, each text is found\n", len(chosen))
		return err
	}
	dir, err := os.MkdirTemp("", "rowrun-mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := copyTree(ctx, s.source, dir); err != nil {
		return err
	}
	missed := 0
	for _, m := range chosen {
		found, err := hunt(ctx, s, dir, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if !found.ok {
			missed++
		}
		_, _ = fmt.Fprintf(out, "| %s | %s | %s | %s | %d |\n", m.name, m.files, found.what, found.seed, int(found.after.Seconds()))
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d mutants were not found", missed, len(chosen))
	}
	return nil
}

// copyTree copies what git knows, as it stands in the tree.
func copyTree(ctx context.Context, source, dir string) error {
	list := exec.CommandContext(ctx, "git", "-C", source, "ls-files", "-z")
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("list files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(source, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil { //nolint:gosec // sources
			return err
		}
	}
	return nil
}

// found is what the rig said of a mutant.
type found struct {
	ok         bool
	what, seed string
	after      time.Duration
}

// hunt runs the rig on a mutant, and puts the tree right again.
func hunt(ctx context.Context, s settings, dir string, m mutant) (found, error) {
	changed, err := m.changed(dir)
	if err != nil {
		return found{}, err
	}
	for file, text := range changed {
		path := filepath.Join(dir, file)
		was, err := os.ReadFile(path) //nolint:gosec // of the table
		if err != nil {
			return found{}, err
		}
		defer func() { _ = os.WriteFile(path, was, 0o644) }()   //nolint:gosec // sources
		if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // sources
			return found{}, err
		}
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", os.DevNull, "./cmd/rowrun")
	build.Dir = dir
	if said, err := build.CombinedOutput(); err != nil {
		return found{}, fmt.Errorf("it doesn't build: %w\n%s", err, said)
	}
	began := time.Now()
	test := exec.CommandContext(ctx, "go", "test", "-trimpath", "-count=1", "-v", "-parallel", "3", "-timeout", "10m", "-run", "^TestChaos$", "./integration/chaos")
	test.Dir = dir
	test.Env = append(os.Environ(), "ROWRUN_SEED="+strconv.FormatInt(s.seed, 10), "ROWRUN_CHAOS_SECONDS="+strconv.Itoa(s.seconds), "ROWRUN_CHAOS_FIRST=1", "ROWRUN_CHAOS_PATIENCE=25s")
	if m.faults != "" {
		test.Env = append(test.Env, "ROWRUN_CHAOS_FAULTS="+m.faults)
	}
	said, err := test.CombinedOutput()
	took := time.Since(began)
	if err == nil {
		return found{what: "survives", seed: "-", after: took}, nil
	}
	if ctx.Err() != nil {
		return found{}, ctx.Err()
	}
	what, seed := verdict(string(said))
	if seed == "-" && what == notStarted {
		return found{}, fmt.Errorf("%s:\n%s", what, said[max(0, len(said)-2000):])
	}
	// A fault that did not take hold is the rig's own trouble, and no invariant.
	return found{ok: seed != "-" && !strings.HasPrefix(what, "the fault"), what: what, seed: seed, after: took}, nil
}

const notStarted = "the rig did not start"

// verdict is the first invariant that failed, and the seed of its schedule.
func verdict(said string) (what, seed string) {
	what, seed = notStarted, "-"
	if m := regexp.MustCompile(`(?m)^\s+Error:\s+(.*)$`).FindStringSubmatch(said); m != nil {
		what = strings.ReplaceAll(m[1], "|", "/")
		if len(what) > 120 {
			what = what[:120]
		}
		if m := regexp.MustCompile(`(?m)^\s+Test:\s+\S*seed=(\d+)`).FindStringSubmatch(said); m != nil {
			seed = m[1]
		}
	}
	return what, seed
}
