package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// on runs a measurement on a server of its own, closes the databases that it made and ends the server.
func (b *bench) on(ctx context.Context, measure func(*server) error) (err error) {
	s, err := b.startServer(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		for _, d := range s.databases {
			d.close()
		}
		err = errors.Join(err, s.stop())
	}()
	return measure(s)
}

// database makes one that is closed with its server's measurement.
func (b *bench) database(ctx context.Context, s *server, name string, schema bool) (*database, error) {
	d, err := b.newDatabase(ctx, s, name, schema)
	if err == nil {
		s.databases = append(s.databases, d)
	}
	return d, err
}

// connect is another connection to a database, closed as its first is.
func (s *server) connect(ctx context.Context, d *database) (*database, error) {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return nil, err
	}
	again := &database{Conn: conn, name: d.name, url: d.url}
	s.databases = append(s.databases, again)
	return again, nil
}

// three makes a database for each contender: Rowrun's with its schema, the others make theirs.
func (b *bench) three(ctx context.Context, s *server) (ours, river, graphile *database, err error) {
	if ours, err = b.database(ctx, s, "rowrun", true); err != nil {
		return nil, nil, nil, err
	}
	if river, err = b.database(ctx, s, "river", false); err != nil {
		return nil, nil, nil, err
	}
	graphile, err = b.database(ctx, s, "graphile", false)
	return ours, river, graphile, err
}
