package migrations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/jackc/pgx/v5"

	pinned "github.com/rowrun/rowrun/store/session"
)

// Difference is an object of the schema that isn't as the migrations made it.
type Difference struct {
	Kind string // function, view, trigger, constraint, index, publication or grants
	Name string // with its schema; a trigger's or constraint's ends with " ON " and its table
	// How is missing, different, disabled (a trigger), invalid (an index) or foreign (a trigger that isn't Rowrun's).
	How string
}

// Drift is what the schema has become.
type Drift struct {
	// Known: there is a record to compare with. Not so where the migrations were applied by hand, until `migrate up`.
	Known       bool
	Objects     int // compared
	Differences []Difference
	Steps       []string // files of table steps that the schema was made with another text of
	Code        []string // objects of the code whose source isn't this program's; none where the schema's is of a newer release
}

// ReadDrift compares the schema with what it was when the migrations had run. It changes nothing, and any role with
// SELECT on rowrun.schema_object may ask.
func ReadDrift(ctx context.Context, config Config) (Drift, error) {
	config, err := config.withDefaults()
	if err != nil {
		return Drift{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, statusTimeout, fmt.Errorf("no answer within %s: %w", statusTimeout, context.DeadlineExceeded))
	defer cancel()
	connConfig, err := pgx.ParseConfig(config.URL)
	if err != nil {
		return Drift{}, errors.New("not a connection string")
	}
	pinned.Pin(connConfig, spelling)
	conn, err := pgx.ConnectConfig(ctx, connConfig)
	if err != nil {
		return Drift{}, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var d Drift
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		found, err := catalog(ctx, tx)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, "SELECT kind, name, hash FROM rowrun.schema_object ORDER BY kind, name")
		if err != nil {
			return err
		}
		want, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o object, err error) {
			err = row.Scan(&o.Kind, &o.Name, &o.Hash)
			return o, err
		})
		if err != nil {
			return err
		}
		d = Drift{Known: len(want) > 0, Objects: len(want), Differences: compare(want, found)}
		return d.readSources(ctx, tx, config.FS)
	})
	return d, err
}

// readSources compares what the schema was made of with this program's files.
func (d *Drift) readSources(ctx context.Context, tx pgx.Tx, fsys fs.FS) error {
	files, err := readFiles(fsys)
	if err != nil {
		return err
	}
	if d.Steps, err = files.changedSteps(ctx, tx); err != nil || files.code == nil {
		return err
	}
	has, err := readCodeVersion(ctx, tx)
	if err != nil || has.Release > files.code.release {
		return err
	}
	objects, err := readObjects(ctx, tx)
	if err != nil {
		return err
	}
	for _, o := range files.code.objects {
		if objects[o.key()].hash != o.hash {
			d.Code = append(d.Code, o.key())
		}
		delete(objects, o.key())
	}
	var gone []string
	for key, o := range objects {
		if o.retired == 0 {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	d.Code = append(d.Code, gone...)
	return nil
}

// compare lists how found differs from want. Objects that nobody asked for are somebody's own, but for triggers: they
// change what a statement does.
func compare(want, found []object) []Difference {
	var differences []Difference
	is := make(map[string]object, len(found))
	for _, o := range found {
		is[o.key()] = o
	}
	for _, o := range want {
		got, there := is[o.key()]
		delete(is, o.key())
		var how string
		switch {
		case !there && o.Kind == "grants" && o.Name != "SCHEMA rowrun":
			continue // of an object that is missing, which is said
		case !there:
			how = "missing"
		case got.Hash == o.Hash:
			continue
		case got.State == "disabled", got.State == "invalid":
			how = got.State
		default:
			how = "different"
		}
		differences = append(differences, Difference{Kind: o.Kind, Name: o.Name, How: how})
	}
	if len(want) == 0 {
		return nil
	}
	for _, o := range found {
		if _, left := is[o.key()]; left && o.Kind == "trigger" {
			differences = append(differences, Difference{Kind: o.Kind, Name: o.Name, How: "foreign"})
		}
	}
	return differences
}
