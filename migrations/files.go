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

// file is one table step, both ways.
type file struct {
	version int
	name    string
	up      string
	down    string
}

// files are the table steps, ascending, and the code.
type files struct {
	list []file
	code *codeFiles // nil where there is none
}

func readFiles(fsys fs.FS) (*files, error) {
	read, err := readTables(fsys)
	if err != nil {
		return nil, err
	}
	read.code, err = readCode(fsys)
	return read, err
}

// readTables leaves the code out.
func readTables(fsys fs.FS) (*files, error) {
	driver, err := iofs.New(fsys, "tables")
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
	return read, nil
}

// path is the file that a step is applied from.
func (f *file) path() string { return fmt.Sprintf("tables/%04d_%s.up.sql", f.version, f.name) }

// checksum is of the text that is applied; it never changes once a database has it.
func (f *file) checksum() string {
	sum := sha256.Sum256([]byte(f.up))
	return hex.EncodeToString(sum[:])
}

// record is the statement by which a step's own transaction says that it was applied.
func (f *file) record() string {
	return fmt.Sprintf("\nINSERT INTO rowrun.migration (version, checksum) VALUES (%d, '%s');\n", f.version, f.checksum())
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
