package connect

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
)

// Form is what is accepted as the address of a database, in words.
const Form = "postgres://user@host:5432/database or host=… dbname=…"

// ErrForm says that a text is no connection string.
var ErrForm = errors.New("not a connection string")

// Parse reads a connection string. Its errors, ErrForm or a file that the string names, don't show it: a mistyped URL
// shows parts of its password in the parser's words.
func Parse(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return nil, fmt.Errorf("names a file that can't be used: %w", path)
	case err != nil:
		return nil, ErrForm
	}
	return config, nil
}
