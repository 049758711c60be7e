package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

//go:embed tables/*.sql code
var embedded embed.FS

// ErrNewer says that the database has table steps that this binary doesn't know.
var ErrNewer = errors.New("the schema is newer than this binary")

// Config says where to migrate to.
type Config struct {
	// URL is a connection string or URL in pgx's forms; required. It must lead to
	// the server itself or a pooler in session mode.
	URL string
	// FS holds tables/*.sql and code; default: the embedded files.
	FS fs.FS
	// Log gets what was done; the zero value is silent.
	Log zerolog.Logger
	// LockWait bounds the wait for others that migrate now; default 10 min.
	LockWait time.Duration
	// Timeout bounds a whole call, the wait included; default 1 h.
	Timeout time.Duration
}

func (c Config) withDefaults() (Config, error) {
	if c.URL == "" {
		return c, errors.New("no database given")
	}
	if c.FS == nil {
		c.FS = embedded
	}
	if c.LockWait <= 0 {
		c.LockWait = 10 * time.Minute
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Hour
	}
	return c, nil
}

// Up applies the table steps that are missing and returns how many these were. Then it brings the code of the schema to
// this binary's, where it differs. A schema that is newer than this binary is left as it is, and so is code of a newer
// release.
func Up(ctx context.Context, config Config) (applied int, err error) {
	return UpTo(ctx, config, 0)
}

// UpTo is Up as far as version, 0 for all; the code comes with the newest one only.
func UpTo(ctx context.Context, config Config, version int) (applied int, err error) {
	err = locked(ctx, config, "migrate up", func(ctx context.Context, s *session) error {
		if version != 0 && !s.files.has(version) {
			return s.files.unknown(version)
		}
		current, err := s.settle(ctx)
		if err != nil {
			return err
		}
		if latest := s.files.latest(); current > latest {
			s.log.Warn().Int("version", current).Int("known", latest).Msg("schema is newer than this binary, left as it is")
			return nil
		}
		if err := s.verify(ctx); err != nil {
			return err
		}
		fresh := current == 0
		for _, f := range s.files.after(current) {
			if version != 0 && f.version > version {
				break
			}
			if err := s.up(ctx, f); err != nil {
				return err
			}
			current = f.version
			applied++
		}
		if current < s.files.latest() {
			return nil
		}
		if err := s.applyCode(ctx); err != nil {
			return err
		}
		return s.note(ctx, fresh)
	})
	return applied, err
}

// Down takes the newest table steps back, and first the code, which belongs to the newest tables: the Up of the program
// that they are right for puts its own there. It returns how many steps; fewer where no more were applied. Their data
// is lost.
func Down(ctx context.Context, config Config, steps int) (undone int, err error) {
	if steps < 1 {
		return 0, fmt.Errorf("migrate down: %d steps: must be at least 1", steps)
	}
	err = locked(ctx, config, "migrate down", func(ctx context.Context, s *session) error {
		current, err := s.settle(ctx)
		if err != nil {
			return err
		}
		if latest := s.files.latest(); current > latest {
			return fmt.Errorf("version %d, known %d: %w; use the binary that migrated it", current, latest, ErrNewer)
		}
		if err := s.verify(ctx); err != nil {
			return err
		}
		for _, f := range s.files.downFrom(current) {
			if undone == steps {
				break
			}
			if err := s.down(ctx, f); err != nil {
				return err
			}
			undone++
		}
		return nil
	})
	return undone, err
}

// Force records that the schema is at version, 0 for none, without running
// anything: for a person who has repaired it by hand.
func Force(ctx context.Context, config Config, version int) error {
	return locked(ctx, config, "migrate force", func(ctx context.Context, s *session) error {
		if version != 0 && !s.files.has(version) {
			return s.files.unknown(version)
		}
		return s.force(ctx, version)
	})
}

// Grants creates the roles where they are missing and repeats what they may do.
func Grants(ctx context.Context, config Config) error {
	return locked(ctx, config, "migrate grants", func(ctx context.Context, s *session) error {
		current, err := s.settle(ctx)
		if err != nil {
			return err
		}
		if current < s.files.latest() {
			return fmt.Errorf("the schema is at version %d of %d: run `rowrun migrate up` first", current, s.files.latest())
		}
		if len(s.files.code.of(kindGrants)) == 0 {
			return fmt.Errorf("code/grants: %w", fs.ErrNotExist)
		}
		if err := s.needCode(ctx); err != nil {
			return err
		}
		if err := s.grant(ctx); err != nil {
			return err
		}
		return s.regrant(ctx)
	})
}

// Version is the newest embedded table step.
func Version() int { return own().version }

// Release is that of this binary's code.
func Release() int { return own().release }

// OwnCode is the code of this binary.
func OwnCode() Code {
	c := ours().code
	return Code{Release: c.release, Hash: c.hash()}
}

// own is what each command asks for when it starts: read without the code, which takes a hundred times as long.
var own = sync.OnceValue(func() (known struct{ version, release int }) { //nolint:gochecknoglobals // as ours
	tables, err := readTables(embedded)
	if err != nil {
		panic(err) // as ours
	}
	code, err := readManifest(embedded)
	if err != nil {
		panic(err)
	}
	known.version, known.release = tables.latest(), code.release
	return known
})

// ours are the embedded files, read once.
var ours = sync.OnceValue(func() *files { //nolint:gochecknoglobals // what the build embedded, which never changes
	files, err := readFiles(embedded)
	if err != nil {
		panic(err) // the build embedded what can't be read
	}
	return files
})
