package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// Way is how a replica gets to the database, and where that was said.
type Way struct {
	// URL reaches the database; a pooler may stand in between.
	URL string
	// DirectURL reaches it without a pooler; the same as URL where no other was given.
	DirectURL string
	// Source and DirectSource name where these came from, for messages; a URL is never shown.
	Source, DirectSource string
	// pooler says that URL was found to lead through a pooler, see FindPooler.
	pooler bool
}

// Pooled says that URL may lead through a pooler: another way was given as well, or one was found.
func (w *Way) Pooled() bool { return w.pooler || w.DirectURL != w.URL }

// FindPooler waits for the database and finds out that URL leads through a pooler in transaction mode: statements are then
// not prepared on connections that the next one may not get.
func (w *Way) FindPooler(ctx context.Context, log zerolog.Logger) error {
	return w.outlast(ctx, log, func() error { return w.lookForPooler(ctx) })
}

func (w *Way) lookForPooler(ctx context.Context) error {
	if w.Pooled() {
		return nil // said by whoever gave another way
	}
	config, err := Parse(w.URL)
	if err != nil {
		return err
	}
	err = events.ProbeListen(ctx, config)
	switch {
	case errors.Is(err, events.ErrNoNotify), errors.Is(err, events.ErrQueueFull):
		// Nobody can tell while the queue is full: what a pooler bears goes without one too, and the listener asks again.
		w.pooler = true
		return nil
	case err != nil && ctx.Err() == nil && Diagnose(err).Wait:
		return fmt.Errorf("%s: listen: %w: %s", Place(w.URL), ErrAway, Diagnose(err).Text)
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("%s: listen: %s", Place(w.URL), Diagnose(err).Text)
	}
	return err
}

// Open opens the store of a replica when the database has the schema that this program needs, and says which deployment
// that is. URL, Pooled and OldPrimary of c are its own. It comes after FindPooler.
func (w *Way) Open(ctx context.Context, c store.Config, log zerolog.Logger) (s *store.Store, deployment string, err error) {
	c.URL, c.Pooled = w.URL, w.Pooled()
	c.OldPrimary = func(err error) { log.Warn().Err(err).Msg("old primary refused") }
	if s, err = store.Open(ctx, c); err != nil {
		return nil, "", err
	}
	err = w.outlast(ctx, log, func() (err error) {
		if err := CheckSchema(ctx, s); err != nil {
			return err
		}
		if deployment, err = s.Deployment(ctx); err != nil && Diagnose(err).Wait {
			err = fmt.Errorf("%w: %w", ErrAway, err)
		}
		return err
	})
	if err != nil {
		s.Close()
		return nil, "", err
	}
	WarnOfCode(ctx, s, log)
	tryConnections(ctx, s, log)
	return s, deployment, nil
}

// ErrTwoDatabases says that the two ways don't lead to one database.
var ErrTwoDatabases = errors.New("both must lead to the same one")

// Meet refuses a DirectURL that leads to another database than URL, by ErrTwoDatabases: a replica would be woken for the runs of that one, and
// migrate it, and tell its stream.
func (w *Way) Meet(ctx context.Context) error {
	if w.DirectURL == w.URL {
		return nil
	}
	own, err := whichDatabase(ctx, w.URL)
	if err != nil {
		return awayOr(w.Source, err)
	}
	direct, err := whichDatabase(ctx, w.DirectURL)
	if err != nil {
		return awayOr(w.DirectSource, err)
	}
	if own.oid != direct.oid || own.server != direct.server && own.server != 0 && direct.server != 0 {
		return fmt.Errorf("%s leads to another database, %s, than %s, %s: %w", w.DirectSource, Place(w.DirectURL), w.Source, Place(w.URL), ErrTwoDatabases)
	}
	return nil
}

// identity tells a database from all others. server: 0 where the role may not know.
type identity struct{ server, oid int64 }

func whichDatabase(ctx context.Context, url string) (i identity, err error) {
	const oid = "SELECT d.oid::bigint FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()"
	const server = "SELECT s.system_identifier FROM pg_catalog.pg_control_system() s"
	if err = ask(ctx, url, oid, &i.oid); err != nil {
		return i, err
	}
	const refused = "42501" // everybody may ask, unless somebody has taken that right from PUBLIC
	if err = ask(ctx, url, server, &i.server); store.SQLState(err) == refused {
		err = nil
	}
	return i, err
}

// awayOr is the error of a way, told from that of a database which is away.
func awayOr(source string, err error) error {
	trouble := Diagnose(err)
	if trouble.Wait {
		return fmt.Errorf("%s: %w: %s", source, ErrAway, trouble.Text)
	}
	return fmt.Errorf("%s: %s", source, trouble.Text)
}

// tryConnections says so where the replica gets fewer connections than it works with: it lives, and may be unable to claim.
func tryConnections(ctx context.Context, s *store.Store, log zerolog.Logger) {
	ask, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	if err := s.Fill(ask); err != nil && ctx.Err() == nil {
		log.Warn().Str("cause", store.Reason(err)).Msg("not all connections that a replica needs can be opened: look at CONNECTION LIMIT of role and database, and at max_connections")
	}
}

// outlast asks when the database is reached, on every way that a replica uses,
// and again where it went away in the midst of it.
func (w *Way) outlast(ctx context.Context, log zerolog.Logger, ask func() error) error {
	for {
		if err := Wait(ctx, w.URL, w.Source, 0, log); err != nil {
			return err
		}
		if w.DirectURL != w.URL {
			if err := Wait(ctx, w.DirectURL, w.DirectSource, 0, log); err != nil {
				return err
			}
		}
		err := w.Meet(ctx)
		if err == nil {
			err = ask()
		}
		if !errors.Is(err, ErrAway) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Place names the database for messages: host, port and name, never the login.
func Place(url string) string {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return "the database"
	}
	return net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
}
