package sqlexec

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowrun/rowrun/scheduler"
)

// unknownOutcome is SQLSTATE transaction_resolution_unknown.
const unknownOutcome = "08007"

const (
	maxMessage   = 1 << 10 // bytes of each of the server's texts in a failure
	maxStatement = 200     // bytes of the statement in a failure
)

// errEndedTransaction is for a statement that ended the transaction although
// nothing in its text says so.
var errEndedTransaction = errors.New(`the statement ended the transaction that all statements run in: ` +
	`set "transaction": false in the payload`)

// statementError is a statement that did not succeed.
type statementError struct {
	index int
	err   error
}

func (e *statementError) Error() string { return fmt.Sprintf("statement %d: %v", e.index+1, e.err) }
func (e *statementError) Unwrap() error { return e.err }

// fail turns what went wrong into the run's failure and logs it.
func (j *job) fail(ctx context.Context, err error) error {
	f := j.failure(err)
	j.log.flush(ctx)
	j.log.add(ctx, "error", map[string]string{"code": f.Code, "detail": f.Detail})
	return f
}

func (j *job) failure(err error) *scheduler.Failure {
	var f *scheduler.Failure
	if errors.As(err, &f) {
		return f
	}
	f = &scheduler.Failure{Code: scheduler.CodeError, Detail: err.Error(), Retryable: true}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		f.Code = server.Code
		f.Detail += serverMore(server)
	}
	var failed *statementError
	if errors.As(err, &failed) {
		f.Detail = j.describe(failed)
	}
	return f
}

// describe names the failing statement, its place in the whole text, and what the server said.
func (j *job) describe(e *statementError) string {
	s := &j.statements[e.index]
	at := s.place
	text := e.err.Error()
	var server *pgconn.PgError
	if errors.As(e.err, &server) {
		text = serverText(server)
		if server.Position > 0 {
			at = placeOf(j.text, s.offset+byteOffset(s.text, int(server.Position)-1))
		}
	} else if !errors.Is(e.err, errEndedTransaction) && !isStopped(e.err) {
		text = "the connection was lost: " + text
		if !j.transaction {
			text += "; whether the statement took effect is unknown"
		}
	}
	return fmt.Sprintf("statement %d of %d (line %d, character %d): %s; statement: %s",
		e.index+1, len(j.statements), at.line, at.char, text, s.shown(maxStatement))
}

func isStopped(err error) bool {
	var stopped *stoppedError
	return errors.As(err, &stopped)
}

func serverText(e *pgconn.PgError) string {
	return fmt.Sprintf("%s: %s (SQLSTATE %s)", e.Severity, cut(e.Message, maxMessage), e.Code) + serverMore(e)
}

// serverMore is what the server said beside its message.
func serverMore(e *pgconn.PgError) string {
	var out strings.Builder
	for _, part := range []struct{ name, text string }{
		{"detail", e.Detail}, {"hint", e.Hint}, {"context", e.Where},
	} {
		if part.text != "" {
			fmt.Fprintf(&out, "; %s: %s", part.name, cut(part.text, maxMessage/2))
		}
	}
	return out.String()
}

// byteOffset returns where the n-th character (from 0) begins.
func byteOffset(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// refused is true where an error of the server means that the statement, outside
// a transaction, has changed nothing.
func (s *statement) refused(err error) bool {
	var server *pgconn.PgError
	if !errors.As(err, &server) || isFatal(server) {
		return false
	}
	if !s.manySteps() {
		return true
	}
	// Of several steps none was begun if the text was wrong by itself. The same
	// codes from within a function carry a context.
	class := server.Code[:min(2, len(server.Code))]
	return server.Where == "" && (class == "42" || class == "0A" || class == "25" || class == "3F")
}

// isFatal is true for errors that end the session: they may come after a commit.
func isFatal(e *pgconn.PgError) bool {
	severity := e.SeverityUnlocalized
	if severity == "" {
		severity = e.Severity
	}
	return severity != "ERROR"
}
