package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store"
)

// CheckSchema refuses a database without the schema that this program needs. A
// newer one is fine: migrations keep old replicas working.
func CheckSchema(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	version, err := s.SchemaVersion(ctx)
	latest := int64(migrations.Version())
	switch {
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
	}
	return nil
}
