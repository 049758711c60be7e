package planfile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/store"
)

// readDirectory reads the migrations in a directory and below. database "": each folder directly in it is one.
func readDirectory(dir, database string) (Plan, error) {
	if real, err := filepath.EvalSymlinks(dir); err == nil { // a release's link to its newest directory
		dir = real
	}
	reader := newReader(dir, database)
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if file != dir && strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err := refuseLink(file, entry); err != nil {
			return err
		}
		if entry.IsDir() || strings.ToLower(path.Ext(entry.Name())) != ".sql" {
			return nil
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return reader.add(filepath.ToSlash(name))
	})
	plan := reader.plan
	var wrong *cli.UsageError
	if errors.As(err, &wrong) {
		return plan, err
	}
	if err != nil {
		return plan, cli.Usagef("%w", err)
	}
	slices.SortFunc(plan.Tasks, func(a, b store.WantedTask) int {
		return cmp.Or(cmp.Compare(*a.DatabaseID, *b.DatabaseID), compareVersions(*a.Version, *b.Version))
	})
	return plan, nil
}

// refuseLink refuses a link to a directory: a walk passes it by, so that what is below it would never run.
func refuseLink(file string, entry fs.DirEntry) error {
	if entry.Type()&fs.ModeSymlink == 0 {
		return nil
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a broken link whose name is that of a migration says so when it is read
	}
	if err != nil || !info.IsDir() {
		return err
	}
	return cli.Usagef("%s: is a link to a directory, which is not followed; accepted: the directory itself", file)
}

// reader gathers the files of a directory.
type reader struct {
	dir, database                              string
	plan                                       Plan
	versioned, undo, repeatable, outside, head *regexp.Regexp
}

func newReader(dir, database string) *reader {
	return &reader{
		dir: dir, database: database,
		versioned:  regexp.MustCompile(`^V([0-9]{1,20}(?:[._][0-9]{1,20}){0,9})__.+\.sql$`),
		undo:       regexp.MustCompile(`^U[0-9].*__.*\.sql$`),
		repeatable: regexp.MustCompile(`^R__.*\.sql$`),
		outside:    regexp.MustCompile(`(?mi)^\s*executeInTransaction\s*=\s*false\s*$`),
		head:       headComment(),
	}
}

// headComment is the comment that has a migration run outside of a transaction.
func headComment() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^--\s*rowrun:\s*transaction\s*=\s*false\s*$`)
}

// add reads one file.
func (r *reader) add(name string) error {
	dir, database, p := r.dir, r.database, &r.plan
	base := path.Base(name)
	version, err := r.versionOf(base)
	if err != nil {
		return cli.Usagef("%s: %w", filepath.Join(dir, name), err)
	}
	if version == "" {
		p.Ignored = append(p.Ignored, name+": undo migrations are run by nobody")
		return nil
	}
	if database == "" {
		folder, _, below := strings.Cut(name, "/")
		if !below {
			return cli.Usagef("%s: is a migration of which database? accepted: --database NAME, or %s/NAME/%s", filepath.Join(dir, name), dir, base)
		}
		database = folder
	}
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return cli.Usagef("%w", err)
	}
	conf, err := os.ReadFile(filepath.Join(dir, name) + ".conf")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.Usagef("%w", err)
	}
	payload, err := statements(string(content), name, !r.outside.Match(conf) && inTransaction(string(content), r.head))
	if err != nil {
		return err
	}
	p.Tasks = append(p.Tasks, store.WantedTask{
		Name: name, Type: "DATABASE_MIGRATE", DatabaseID: &database, Version: &version, Payload: payload, Hash: hashOf(append(content, conf...)),
	})
	return nil
}

// versionOf reads Flyway's names: V1.2__words.sql, V1_2__words.sql. "": an undo migration.
func (r *reader) versionOf(base string) (string, error) {
	const accepted = "accepted: V1__name.sql, V1.1__name.sql, V20261123.1__name.sql"
	if found := r.versioned.FindStringSubmatch(base); found != nil {
		return strings.ReplaceAll(found[1], "_", "."), nil
	}
	switch {
	case r.undo.MatchString(base):
		return "", nil
	case r.repeatable.MatchString(base):
		return "", errors.New("repeatable migrations have no version, and so no place in the order: give each change of it a version of its own; " + accepted)
	}
	return "", errors.New("this name says no version, and the file would be left out; " + accepted)
}

// inTransaction says whether a migration runs in one: unless a comment at its head says no, as CREATE INDEX CONCURRENTLY
// wants it.
func inTransaction(text string, head *regexp.Regexp) bool {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "--") {
			return true
		}
		if head.MatchString(line) {
			return false
		}
	}
	return true
}

// compareVersions compares number by number.
func compareVersions(a, b string) int {
	left, right := strings.Split(Canonical(a), "."), strings.Split(Canonical(b), ".")
	return slices.CompareFunc(left, right, func(x, y string) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
}
