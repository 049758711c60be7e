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
	maxMessage  = 1 << 10 // bytes of the server's message in a failure
	maxLoggedBy = 4 << 10 // bytes of each of the server's texts in the run's log
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

// errorRow is what the run's log keeps of a failure. The statement, and what the server says beyond the first line of
// its message (values of rows, the text of functions), stand nowhere else: detail travels in the stream and in webhooks.
type errorRow struct {
	Code    string `json:"code"`
	Detail  string `json:"detail"`
	SQL     string `json:"sql,omitempty"`
	Message string `json:"message,omitempty"`
	More    string `json:"server_detail,omitempty"`
	Hint    string `json:"hint,omitempty"`
	Context string `json:"context,omitempty"`
}

// fail turns what went wrong into the run's failure and logs it.
func (j *job) fail(ctx context.Context, err error) error {
	f := j.failure(err)
	j.log.flush(ctx)
	row := errorRow{Code: f.Code, Detail: f.Detail}
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		row.Message, row.More = cut(server.Message, maxLoggedBy), cut(server.Detail, maxLoggedBy)
		row.Hint, row.Context = cut(server.Hint, maxLoggedBy), cut(server.Where, maxLoggedBy)
	}
	if failed, ok := errors.AsType[*statementError](err); ok {
		statement := &j.statements[failed.index]
		row.SQL = statement.shown(maxLoggedSQL)
		if statement.mayHoldSecret() {
			row.Context = "" // it quotes the statement
		}
	}
	j.log.add(ctx, "error", row)
	return f
}

func (j *job) failure(err error) *scheduler.Failure {
	var f *scheduler.Failure
	if errors.As(err, &f) {
		return f
	}
	f = &scheduler.Failure{Code: scheduler.CodeError, Detail: brief(err), Retryable: true}
	var server *pgconn.PgError
	if errors.As(err, &server) && !scheduler.IsOwnCode(server.Code) {
		f.Code = server.Code
	}
	if why := tooLong(err); why != "" {
		f.Code, f.Retryable = scheduler.CodeBadInput, false
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
	text := brief(e.err)
	var server *pgconn.PgError
	if errors.As(e.err, &server) {
		if server.Position > 0 {
			at = placeOf(j.text, s.offset+byteOffset(s.text, int(server.Position)-1))
		}
	} else if !errors.Is(e.err, errEndedTransaction) && !isStopped(e.err) {
		if tooLong(e.err) == "" {
			text = "the connection was lost: " + text
		}
		if !j.transaction {
			text += "; whether the statement took effect is unknown"
		}
	}
	return fmt.Sprintf("statement %d of %d (line %d, character %d): %s", e.index+1, len(j.statements), at.line, at.char, text)
}

func isStopped(err error) bool {
	var stopped *stoppedError
	return errors.As(err, &stopped)
}

// brief is an error's text with the first line of what the server said.
func brief(err error) string {
	if why := tooLong(err); why != "" {
		return why
	}
	text := scheduler.WithoutPlaces(err)
	var server *pgconn.PgError
	if errors.As(err, &server) {
		line, _, _ := strings.Cut(strings.TrimSpace(server.Message), "\n")
		said := fmt.Sprintf("%s: %s (SQLSTATE %s)", server.Severity, cut(strings.TrimRight(line, "\r"), maxMessage), server.Code)
		before, after, found := strings.Cut(text, server.Error())
		if !found {
			return said
		}
		text = before + said + after
	}
	return text
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
