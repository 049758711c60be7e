package migrations

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5/pgconn"
)

// Error is a migration's failure: short, without the file's text that
// golang-migrate would print.
type Error struct {
	Message string
	Line    uint // in the file; 0: unknown
	cause   error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns what the server or the network said.
func (e *Error) Unwrap() error { return e.cause }

// pgError finds the server's answer, also inside of golang-migrate's errors, which don't unwrap.
func pgError(err error) *pgconn.PgError {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg
	}
	if wrapped := driverError(err); wrapped != nil {
		return pgError(wrapped.OrigErr)
	}
	return nil
}

func driverError(err error) *database.Error {
	var pointer *database.Error
	if errors.As(err, &pointer) {
		return pointer
	}
	var value database.Error
	if errors.As(err, &value) {
		return &value
	}
	return nil
}

func code(err error) string {
	if pg := pgError(err); pg != nil {
		return pg.Code
	}
	return ""
}

func is(err error, codes ...string) bool { return slices.Contains(codes, code(err)) }

// explain makes an error short, says what to do where that is known, and shows
// neither login nor address nor SQL.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		return &Error{Message: context.Cause(ctx).Error(), cause: errors.Join(context.Cause(ctx), err)}
	}
	pg := pgError(err)
	if pg == nil {
		return explainConnection(err)
	}
	e := &Error{Message: fmt.Sprintf("%s (SQLSTATE %s)", pg.Message, pg.Code), cause: pg}
	if wrapped := driverError(err); wrapped != nil && wrapped.Line != 0 && pg.Position != 0 {
		e.Line = wrapped.Line
		e.Message = fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	if where := place(err); where != "" {
		e.Message = where + ": " + e.Message
	}
	if hint := hint(pg); hint != "" {
		e.Message += ": " + hint
	}
	return e
}

// place is what was being done, from the words around the server's answer.
func place(err error) string {
	var inner error = pgError(err)
	if wrapped := driverError(err); wrapped != nil {
		inner = *wrapped
		if before, _, ok := strings.Cut(err.Error(), wrapped.Error()); ok {
			return strings.TrimSuffix(before, ": ")
		}
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return "connect"
	}
	before, _, _ := strings.Cut(err.Error(), inner.Error())
	return strings.TrimSuffix(before, ": ")
}

func hint(pg *pgconn.PgError) string {
	switch pg.Code {
	case "28P01", "28000":
		return "check the user and the password of the database URL"
	case "3D000":
		return "create the database first, or name another one in the database URL"
	case "42501":
		return "this role may not do that; migrate as the owner of the database or of schema rowrun, " +
			"or GRANT CREATE ON DATABASE … TO the role"
	case "55P03":
		return "a long transaction holds a lock on the table; end it and run `rowrun migrate up` again"
	case "08P01":
		if strings.Contains(pg.Message, "startup parameter") {
			return "a connection pooler stands in between; give a URL that leads to the server itself (--direct-url)"
		}
	case "42704":
		if strings.Contains(pg.Message, "idle_session_timeout") {
			return "the server is older than PostgreSQL 14; Rowrun needs 15 or later"
		}
	case "25006":
		return "the server takes no writes; connect to the primary"
	}
	return ""
}

func explainConnection(err error) error {
	var connect *pgconn.ConnectError
	if !errors.As(err, &connect) {
		return err
	}
	// Its own text shows host, user and database.
	message := "can't connect to the database"
	var op *net.OpError
	if errors.As(err, &op) {
		message += ": " + op.Err.Error()
	}
	return &Error{Message: message, cause: err}
}
