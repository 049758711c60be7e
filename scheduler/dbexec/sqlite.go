package dbexec

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// sqliteForm is what is accepted, in words.
	sqliteForm = "sqlite:/absolute/path/to/file.db?foreign_keys=on"
	// sqliteBusy is how long a lock is waited for where the target doesn't say.
	sqliteBusy = 5 * time.Second
	// maxSQLiteValue bounds a value: SQLite computes in the sidecar's memory.
	maxSQLiteValue = 64 << 20
	inMemory       = "memory"
)

// sqliteEngine is a file of SQLite's.
type sqliteEngine struct {
	path        string
	mode        string // rw, rwc, ro; inMemory in a look at a file that isn't there
	foreignKeys bool
}

func newSQLite(address string) (*sqliteEngine, error) {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Fragment != "" {
		return nil, errors.New("url is not one of a SQLite database; accepted: " + sqliteForm)
	}
	given, err := options(u, "mode", "foreign_keys")
	if err != nil {
		return nil, err
	}
	e := &sqliteEngine{mode: given["mode"]}
	if e.path, err = pathOf(u, e.mode); err != nil {
		return nil, err
	}
	switch e.mode {
	case "":
		e.mode = "rw"
	case "rw", "rwc", "ro":
	default:
		return nil, fmt.Errorf("the url's mode %q is not accepted; accepted: rw (the file is there), rwc (it is made), ro", cut(e.mode, 50))
	}
	switch given["foreign_keys"] {
	case "on", "1", "true":
		e.foreignKeys = true
	case "", "off", "0", "false":
	default:
		return nil, fmt.Errorf("the url's foreign_keys %q is not accepted; accepted: on, off", cut(given["foreign_keys"], 50))
	}
	return e, nil
}

// pathOf is the file that a URL leads to.
func pathOf(u *url.URL, mode string) (string, error) {
	path := u.Path
	if u.Opaque != "" {
		var err error
		if path, err = url.PathUnescape(u.Opaque); err != nil {
			return "", errors.New("url is not one of a SQLite database; accepted: " + sqliteForm)
		}
	}
	if len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = path[1:] // /C:/…
	}
	switch {
	case u.Host != "" && u.Host != "localhost":
		return "", errors.New("url names a host, and a SQLite database is a file of this machine; accepted: " + sqliteForm)
	case path == ":memory:" || mode == inMemory:
		return "", errors.New("url is a database in memory, of which nothing would be left after a run; accepted: " + sqliteForm)
	case !filepath.IsAbs(path) || strings.HasSuffix(path, "/"):
		return "", errors.New("url has no absolute path of a file; accepted: " + sqliteForm)
	case strings.ContainsRune(path, 0):
		return "", errors.New("url has a NUL character")
	}
	return path, nil
}

func (e *sqliteEngine) kind() Engine { return SQLite }

func (e *sqliteEngine) tokens(text string) iter.Seq2[token, error] { return sqliteTokens(text) }

func (e *sqliteEngine) split(text string) ([]statement, error) {
	out, err := splitSQLite(text)
	for i := range out {
		out[i].nature = sqliteNature(&out[i])
	}
	return out, err
}

func (e *sqliteEngine) connect(ctx context.Context, t *target, label string) (*session, error) {
	if _, err := os.Stat(e.path); err != nil && e.mode != "rwc" && e.mode != inMemory {
		return nil, fmt.Errorf("its file can't be used: %w; with ?mode=rwc it would be made", err)
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(e.path)}
	if !strings.HasPrefix(name.Path, "/") {
		name.Path = "/" + name.Path
	}
	name.RawQuery = url.Values{"mode": {e.mode}, "_defensive": {"1"}}.Encode()
	connector, err := sqlite.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	s := &session{engine: e, target: t, label: label, vacuums: new(bool)}
	s.db = sql.OpenDB(connector)
	if s.conn, err = locked(ctx, s.db); err != nil {
		return nil, err
	}
	if err := e.prepare(ctx, s); err != nil {
		s.close(ctx)
		return nil, err
	}
	return s, nil
}

// prepare keeps a text to this one file and to a bounded part of the sidecar's memory, and reads the file, so that one that is none
// of SQLite's is found.
func (e *sqliteEngine) prepare(ctx context.Context, s *session) error {
	busy := s.target.lockTimeout
	if busy == 0 {
		busy = sqliteBusy
	}
	keys := "OFF"
	if e.foreignKeys {
		keys = "ON"
	}
	for _, text := range []string{
		"PRAGMA busy_timeout = " + strconv.FormatInt(max(busy.Milliseconds(), 1), 10),
		"PRAGMA trusted_schema = OFF",
		"PRAGMA foreign_keys = " + keys,
		"SELECT count(*) FROM sqlite_schema",
	} {
		if _, err := s.conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	if _, err := sqlite.Limit(s.conn, sqlite3.SQLITE_LIMIT_LENGTH, maxSQLiteValue); err != nil {
		return err
	}
	return s.conn.Raw(func(conn any) error {
		guarded, ok := conn.(interface {
			RegisterAuthorizer(sqlite.AuthorizerFn) error
		})
		if !ok {
			return errors.New("the driver has no authorizer")
		}
		return guarded.RegisterAuthorizer(func(action sqlite.AuthorizerActionCode, name, value, _, _ string) sqlite.AuthorizerReturnCode {
			switch {
			case action == sqlite.AuthAttach && !*s.vacuums, action == sqlite.AuthDetach && !*s.vacuums:
				return sqlite.AuthorizerDeny
			case action == sqlite.AuthPragma && maySet(strings.ToUpper(name), value): // EXPLAIN PRAGMA sets, too
				return sqlite.AuthorizerDeny
			case action == sqlite.AuthFunction && strings.EqualFold(name, "load_extension"):
				return sqlite.AuthorizerDeny
			}
			return sqlite.AuthorizerOK
		})
	})
}

func (e *sqliteEngine) limit(context.Context, *session) error { return nil }

// alone has nothing to do: a process that was killed holds no lock of a file, and what it had begun is undone by who opens it next.
func (e *sqliteEngine) alone(context.Context, *session, string, bool, func(string)) error { return nil }

// begin takes the lock for writing at once: taken later, it might be refused in the middle.
func (e *sqliteEngine) begin(ctx context.Context, s *session) error {
	text := "BEGIN IMMEDIATE"
	if e.mode == "ro" {
		text = "BEGIN"
	}
	_, err := s.do(ctx, text)
	return err
}

func (e *sqliteEngine) watch(context.Context, *session) error { return nil }

func (e *sqliteEngine) lasts(context.Context, *session) (bool, error) { return true, nil }

// open asks by a BEGIN, which takes no lock and is refused within a transaction: a SAVEPOINT begins one too, and the RELEASE of the
// outermost ends it.
func (e *sqliteEngine) open(ctx context.Context, s *session, _ bool) (bool, error) {
	_, err := s.do(ctx, "BEGIN")
	if r := e.read(err); r != nil && r.number == sqlite3.SQLITE_ERROR {
		return true, nil
	}
	if err == nil {
		_, err = s.do(ctx, "ROLLBACK")
	}
	return false, err
}

// stop does nothing: the end of the statement's context interrupts it.
func (e *sqliteEngine) stop(context.Context, *session, <-chan struct{}) error { return nil }

func (e *sqliteEngine) gone(context.Context, *session) error { return nil }

func (e *sqliteEngine) notices(context.Context, *session) []noticeRow { return nil }

func (e *sqliteEngine) sent(s *session, text string) string {
	first := ""
	for t, err := range sqliteTokens(text) {
		if err != nil || t.kind == kindWord {
			first = text[t.start:t.end]
			break
		}
	}
	*s.vacuums = strings.EqualFold(first, "VACUUM")
	return text
}

// read returns what SQLite said.
func (e *sqliteEngine) read(err error) *refusal {
	said, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return nil
	}
	first, _, _ := strings.Cut(said.Error(), "\n")
	r := &refusal{code: "ERROR", number: said.Code(), message: said.Error(), text: cut(first, maxMessage)}
	name := codeName(said.Code())
	if !strings.Contains(r.text, name) {
		r.text = fmt.Sprintf("%s (%s, %d)", r.text, name, said.Code())
	}
	switch said.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_INTERRUPT,
		sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_CONSTRAINT:
	default:
		r.permanent = true
	}
	return r
}

// codeName is the name of an error's code.
func codeName(code int) string {
	for _, code := range []int{code, code & 0xff} {
		text := sqlite.ErrorCodeString[code]
		if i, j := strings.LastIndexByte(text, '('), strings.LastIndexByte(text, ')'); i >= 0 && j > i {
			return text[i+1 : j]
		}
	}
	return "SQLITE_ERROR"
}

func (e *sqliteEngine) ledger(*target) *ledgerText {
	l := ledgerOf("main."+ledgerName, "strftime('%Y-%m-%d %H:%M:%f', 'now')", "")
	l.exists = "SELECT type FROM main.sqlite_schema WHERE name = '" + ledgerName + "'"
	l.create = []string{`CREATE TABLE IF NOT EXISTS main.` + ledgerName + ` (
    deployment     text NOT NULL,
    task_id        integer NOT NULL,
    version        text NOT NULL,
    sha256         text NOT NULL,
    status         text NOT NULL,
    run_id         integer NOT NULL,
    applied        integer NOT NULL,
    applied_sha256 text NOT NULL,
    begun          integer,
    started_at     text NOT NULL,
    finished_at    text,
    PRIMARY KEY (deployment, task_id, version)
)`}
	l.doubt = "SELECT CASE type WHEN 'table' THEN '' ELSE 'it is no table' END FROM main.sqlite_schema WHERE name = '" + ledgerName + "'"
	return l
}

// toBeMade says whether the file isn't there, and a run would make it.
func (e *sqliteEngine) toBeMade() bool {
	_, err := os.Stat(e.path)
	return e.mode == "rwc" && errors.Is(err, fs.ErrNotExist)
}

// lookBefore is a look at a file that a run would make. Made by a look it would belong to whoever looks, and the sidecar couldn't write
// it: its directory is tried instead, and a database in memory tells the rest.
func (e *sqliteEngine) lookBefore(ctx context.Context, t *target) (Facts, error) {
	f := Facts{Engine: SQLite, Login: e.path, Notes: []string{"the file isn't there yet: the first run makes it"}}
	tried, err := os.CreateTemp(filepath.Dir(e.path), ".rowrun-")
	if err != nil {
		return f, fmt.Errorf("its file can't be made: %w", err)
	}
	if err := errors.Join(tried.Close(), os.Remove(tried.Name())); err != nil {
		return f, fmt.Errorf("its directory can't be used: %w", err)
	}
	memory := *e
	memory.mode = inMemory
	s, err := memory.connect(ctx, t, "rowrun doctor")
	if err != nil {
		return f, err
	}
	defer s.close(ctx)
	f.Version, err = s.value(ctx, "SELECT sqlite_version()")
	return f, err
}

func (e *sqliteEngine) look(ctx context.Context, s *session) (Facts, error) {
	f := Facts{Engine: SQLite, Login: e.path}
	var err error
	if f.Version, err = s.value(ctx, "SELECT sqlite_version()"); err != nil {
		return f, err
	}
	mode, err := s.value(ctx, "PRAGMA journal_mode")
	if err != nil {
		return f, err
	}
	f.Notes = append(f.Notes, "its journal_mode is "+mode)
	if e.mode == "ro" {
		f.Notes = append(f.Notes, "its url says that it is only read")
		return f, nil
	}
	// Taken and given back: the file, and its directory for the journal, can be written.
	_, wrong := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	if wrong != nil {
		f.Doubts = append(f.Doubts, "it can't be written: "+inWords(e, wrong).Error())
	} else {
		_, err = s.conn.ExecContext(ctx, "ROLLBACK")
	}
	return f, err
}
