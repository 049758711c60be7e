package migrations

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/golang-migrate/migrate/v4/source/iofs"
)

// file is one migration, both ways.
type file struct {
	version int
	name    string
	up      string
	down    string
}

// files are the migrations, ascending, and the repeatable grants.
type files struct {
	list   []file
	grants string // empty where there are none
}

// grantsMark is the statement by which the grants' transaction records which text
// it ran, as a comment on golang-migrate's table.
func (fs *files) grantsMark() string {
	return "\nCOMMENT ON TABLE rowrun.schema_migrations IS '" + fs.grantsComment() + "';\n"
}

func (fs *files) grantsComment() string {
	sum := sha256.Sum256([]byte(fs.grants))
	return "Version of the schema, as golang-migrate keeps it. Grants: " + hex.EncodeToString(sum[:8])
}

func readFiles(fsys fs.FS) (*files, error) {
	driver, err := iofs.New(fsys, "sql")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	defer func() { _ = driver.Close() }()
	read := &files{}
	version, err := driver.First()
	for ; err == nil; version, err = driver.Next(version) {
		f := file{version: int(version)} //nolint:gosec // a file's number
		if f.up, f.name, err = text(driver.ReadUp(version)); err != nil {
			return nil, fmt.Errorf("read migration %d: %w", version, err)
		}
		if f.down, _, err = text(driver.ReadDown(version)); err != nil {
			return nil, fmt.Errorf("read migration %d: %w", version, err)
		}
		read.list = append(read.list, f)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	grants, err := fs.ReadFile(fsys, grantsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read grants: %w", err)
	}
	read.grants = string(grants)
	return read, nil
}

func text(r io.ReadCloser, name string, err error) (string, string, error) {
	if err != nil {
		return "", "", err
	}
	defer func() { _ = r.Close() }()
	all, err := io.ReadAll(r)
	return string(all), name, err
}

func (fs *files) latest() int {
	if len(fs.list) == 0 {
		return 0
	}
	return fs.list[len(fs.list)-1].version
}

func (fs *files) has(version int) bool {
	for _, f := range fs.list {
		if f.version == version {
			return true
		}
	}
	return false
}

func (fs *files) unknown(version int) error {
	return fmt.Errorf("there is no migration %d; the newest is %d", version, fs.latest())
}

// after are those that follow version, ascending.
func (fs *files) after(version int) []file {
	for i, f := range fs.list {
		if f.version > version {
			return fs.list[i:]
		}
	}
	return nil
}

// downFrom are version and those before it, descending.
func (fs *files) downFrom(version int) []file {
	var down []file
	for i := len(fs.list) - 1; i >= 0; i-- {
		if fs.list[i].version <= version {
			down = append(down, fs.list[i])
		}
	}
	return down
}

// before is the version that a database has when version is taken back, 0: none.
func (fs *files) before(version int) int {
	last := 0
	for _, f := range fs.list {
		if f.version >= version {
			break
		}
		last = f.version
	}
	return last
}

// name is that of version, empty where it isn't known.
func (fs *files) name(version int) string {
	for _, f := range fs.list {
		if f.version == version {
			return f.name
		}
	}
	return ""
}
