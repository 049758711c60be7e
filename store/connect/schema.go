package connect

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
)

// CheckSchema refuses a database without the schema that this program needs. A
// newer one is fine: migrations, and the code of the next release, keep old replicas working.
func CheckSchema(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	version, err := s.SchemaVersion(ctx)
	latest := int64(migrations.Version())
	var release int
	if err == nil && version >= latest {
		release, _, err = s.SchemaCode(ctx)
	}
	switch {
	case errors.Is(err, store.ErrOldSchema):
		return err
	case store.SQLState(err) == "42501":
		return errors.New("the role may not read schema rowrun: grant it rowrun_replica to serve, rowrun_viewer to look")
	case err != nil && Diagnose(err).Wait:
		return fmt.Errorf("the schema's version could not be read: %w: %s", ErrAway, Diagnose(err).Text)
	case err != nil:
		return fmt.Errorf("the schema's version could not be read: %s", Diagnose(err).Text)
	case version == 0:
		return errors.New("the database has no schema of Rowrun's: run `rowrun migrate up`, or serve with --migrate")
	case version < latest:
		return fmt.Errorf("the schema is at version %d and this program needs %d: run `rowrun migrate up`, or serve with --migrate",
			version, latest)
	case release == 0:
		return errors.New("the schema has tables but no functions, as after a migration that was interrupted: run `rowrun migrate up`, or serve with --migrate")
	case release < migrations.Release():
		return fmt.Errorf("the schema's code is of release %d and this program needs %d: run `rowrun migrate up`, or serve with --migrate",
			release, migrations.Release())
	}
	return nil
}

// WarnOfCode says that the schema's functions are another build's of the same release.
func WarnOfCode(ctx context.Context, s *store.Store, log zerolog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	release, hash, err := s.SchemaCode(ctx)
	if own := migrations.OwnCode(); err == nil && release == own.Release && hash != own.Hash {
		log.Warn().Str("schema", hash).Str("program", own.Hash).Int("release", release).
			Msg("the schema's code is another build's than this program's: `rowrun migrate up` applies this one's")
	}
}
