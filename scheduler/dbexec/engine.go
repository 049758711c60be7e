package dbexec

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"net/url"
	"strings"
)

// Engine is the kind of a database, as people call it.
type Engine string

// The engines of targets.
const (
	PostgreSQL Engine = "PostgreSQL" // executed by package sqlexec
	MySQL      Engine = "MySQL"
	MariaDB    Engine = "MariaDB"
	SQLite     Engine = "SQLite"
)

// Engines are the names that databases.<name>.engine takes.
const Engines = "postgresql, mysql, mariadb, sqlite"

// EngineOf tells a target's engine: name, where it is not "", or the scheme of its URL. PostgreSQL's keywords have none.
func EngineOf(name, address string) (Engine, error) {
	switch strings.ToLower(name) {
	case "postgresql", "postgres":
		return PostgreSQL, nil
	case "mysql":
		return MySQL, nil
	case "mariadb":
		return MariaDB, nil
	case "sqlite":
		return SQLite, nil
	case "":
	default:
		return "", fmt.Errorf("engine %q is not accepted; accepted: %s", name, Engines)
	}
	scheme, _, found := strings.Cut(address, ":")
	if !found || strings.ContainsAny(scheme, "= /") {
		return PostgreSQL, nil
	}
	switch strings.ToLower(scheme) {
	case "mysql":
		return MySQL, nil
	case "mariadb":
		return MariaDB, nil
	case "sqlite", "sqlite3", "file":
		return SQLite, nil
	}
	return PostgreSQL, nil // whose parser says what is wrong with it
}

// engine is what differs between the databases.
type engine interface {
	// kind is the engine's name for people.
	kind() Engine
	// tokens are those of one statement.
	tokens(text string) iter.Seq2[token, error]
	// split cuts a text into statements and says of each what the engine makes of it.
	split(text string) ([]statement, error)
	// connect opens a session that is named label where the engine shows names.
	connect(ctx context.Context, t *target, label string) (*session, error)
	// limit sets the target's timeouts for the statements that follow.
	limit(ctx context.Context, s *session) error
	// alone makes sure that no session of an earlier attempt works on the target; name is the same for all of them. Where kill
	// is false, one that executes a statement may end it first. say tells of the wait.
	alone(ctx context.Context, s *session, name string, kill bool, say func(string)) error
	// begin begins a transaction.
	begin(ctx context.Context, s *session) error
	// watch makes lasts able to tell whether a statement ends the transaction that it is in.
	watch(ctx context.Context, s *session) error
	// lasts is true where the transaction that watch saw goes on.
	lasts(ctx context.Context, s *session) (bool, error)
	// open is true where the session is in a transaction. said is what the words of the statements say.
	open(ctx context.Context, s *session, said bool) (bool, error)
	// stop ends the statement that the session executes. It returns nil when done is closed or the session is gone, and otherwise
	// why it could do no more.
	stop(ctx context.Context, s *session, done <-chan struct{}) error
	// gone returns nil once nothing of a lost session is left in the engine.
	gone(ctx context.Context, s *session) error
	// read returns what the engine itself said, nil for an error of the connection.
	read(err error) *refusal
	// notices returns what the engine has to say of the last statement.
	notices(ctx context.Context, s *session) []noticeRow
	// sent is a statement as it is sent.
	sent(s *session, text string) string
	// ledger are the statements of the ledger.
	ledger(t *target) *ledgerText
	// look says what doctor wants to know.
	look(ctx context.Context, s *session) (Facts, error)
}

// refusal is an error of the engine's own.
type refusal struct {
	code      string // for the run's result: an SQLSTATE, or ERROR
	number    int    // the engine's
	text      string // the first line for people, with the number
	message   string // all of it
	permanent bool   // another attempt would meet it again
	fatal     bool   // it ends the session
	line      int    // in the statement, from 1; 0: not said
}

// tells is true where a refusal says that the statement took effect before.
func (r *refusal) tells(s *statement) bool {
	for _, number := range s.tells {
		if number == r.number && (number != 1005 || strings.Contains(r.message, "errno: 121")) {
			return true
		}
	}
	return false
}

// locked is an *sql.DB with one connection, which is never replaced by another.
func locked(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return conn, nil
}

// options takes the query of a URL apart; each may be given once.
func options(u *url.URL, accepted ...string) (map[string]string, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("what follows ? in the url is not key=value&…; accepted: %s", strings.Join(accepted, ", "))
	}
	out := map[string]string{}
	for key, values := range query {
		known := false
		for _, name := range accepted {
			known = known || name == key
		}
		if !known {
			return nil, fmt.Errorf("the url's option %q is not accepted; accepted: %s", cut(key, 50), strings.Join(accepted, ", "))
		}
		if len(values) > 1 {
			return nil, fmt.Errorf("the url's option %q is given twice", key)
		}
		out[key] = values[0]
	}
	return out, nil
}
