package embeddedpg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrNoBinaries says that no usable PostgreSQL server binaries were found;
// the text around it names what to install.
var ErrNoBinaries = errors.New("no PostgreSQL 15 or later found")

// oldest is the first major version with all that Rowrun uses.
const oldest = 15

// binaries is a directory that holds initdb and postgres of one major version.
type binaries struct {
	dir   string
	major int
}

// Find returns the directory of the server binaries that Start would use for a
// new cluster: ROWRUN_PG_BIN, else pg_config's, else the newest of
// /usr/lib/postgresql, else npm's @embedded-postgres. The error is ErrNoBinaries
// with what to do, or says what is wrong with ROWRUN_PG_BIN.
func Find(ctx context.Context) (string, error) {
	found, err := find(ctx, "", 0, processUser())
	return found.dir, err
}

// find looks for binaries that as may execute. A major above zero is that of a
// data directory: only the same version can open it.
func find(ctx context.Context, dir string, major int, as user) (binaries, error) {
	source := "BinDir"
	if dir == "" {
		dir, source = os.Getenv("ROWRUN_PG_BIN"), "ROWRUN_PG_BIN"
	}
	if dir != "" {
		// What somebody named is used or refused, never passed over.
		found, err := inspect(ctx, dir, as)
		if err != nil {
			return binaries{}, fmt.Errorf("%s=%s: %w", source, dir, err)
		}
		if found.major < oldest {
			return binaries{}, fmt.Errorf("%s=%s is PostgreSQL %d: %w", source, dir, found.major, ErrNoBinaries)
		}
		return found, nil
	}
	var best binaries
	for _, dir := range candidates(ctx) {
		found, err := inspect(ctx, dir, as)
		if err != nil || found.major < oldest {
			continue
		}
		if major == 0 || found.major == major {
			return found, nil
		}
		if best.dir == "" {
			best = found
		}
	}
	if best.dir == "" {
		return binaries{}, fmt.Errorf("%w: install the server package "+
			"(Debian, Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; macOS: brew install postgresql@17) "+
			"or set ROWRUN_PG_BIN to the directory that holds initdb and postgres", ErrNoBinaries)
	}
	return best, nil
}

// candidates lists directories in the order of preference; they may not exist.
func candidates(ctx context.Context) []string {
	var dirs []string
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	packaged, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	version := func(dir string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		return n
	}
	slices.SortFunc(packaged, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	dirs = append(dirs, packaged...)
	for _, modules := range []string{"node_modules", "/usr/local/lib/node_modules", "/usr/lib/node_modules"} {
		npm, _ := filepath.Glob(filepath.Join(modules, "@embedded-postgres/*/native/bin"))
		dirs = append(dirs, npm...)
	}
	return dirs
}

func inspect(ctx context.Context, dir string, as user) (binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return binaries{}, err
	}
	for _, name := range []string{"initdb", "postgres"} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case err != nil || info.IsDir():
			return binaries{}, fmt.Errorf("holds no %s: %w", name, ErrNoBinaries)
		case !as.reaches(dir) || !as.may(info, 1):
			return binaries{}, fmt.Errorf("user %s can't execute %s: %w", as.name, name, ErrNoBinaries)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return binaries{}, fmt.Errorf("ask for the version: %w", err)
	}
	major, err := parseMajor(string(out))
	return binaries{dir: dir, major: major}, err
}

// parseMajor reads the major version out of "postgres (PostgreSQL) 15.14 (Debian …)" or "18beta1".
func parseMajor(text string) (int, error) {
	match := regexp.MustCompile(`(?:^|\) )(\d+)`).FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return 0, fmt.Errorf("no version in %q", text)
	}
	return strconv.Atoi(match[1])
}
