package dbexec

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowrun/rowrun/scheduler"
)

// unknownOutcome is SQLSTATE transaction_resolution_unknown.
const unknownOutcome = "08007"

const (
	maxMessage  = 1 << 10 // bytes of the engine's message in a failure
	maxLoggedBy = 4 << 10 // bytes of it in the run's log
)

// errEndedTransaction is for a statement that ended the transaction although nothing in its text says so.
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
	row := errorRow{Code: f.Code, Detail: f.Detail}
	secret := false
	if failed, ok := errors.AsType[*statementError](err); ok {
		statement := &j.statements[failed.index]
		row.SQL = statement.shown(j.target.engine, maxLoggedSQL)
		secret = statement.mayHoldSecret()
	}
	if r := j.refusal(err); r != nil && !secret {
		row.Message = cut(r.message, maxLoggedBy)
	}
	j.log.add(ctx, "error", row)
	return f
}

// refusal is what the engine said, nil where it said nothing.
func (j *job) refusal(err error) *refusal { return j.target.engine.read(err) }

func (j *job) failure(err error) *scheduler.Failure {
	if f, ok := errors.AsType[*scheduler.Failure](err); ok {
		return f
	}
	f := &scheduler.Failure{Code: scheduler.CodeError, Detail: j.brief(err), Retryable: true}
	if r := j.refusal(err); r != nil {
		f.Retryable = !r.permanent
		if !scheduler.IsOwnCode(r.code) {
			f.Code = r.code
		}
	}
	if _, ok := errors.AsType[*timeoutError](err); ok {
		f.Code = codeInterrupted
	}
	if failed, ok := errors.AsType[*statementError](err); ok {
		f.Detail = j.describe(failed)
	}
	if errors.Is(err, errEndedTransaction) {
		f.Retryable = false
	}
	return f
}

// codeInterrupted is the SQLSTATE of statements that were ended, for all engines.
const codeInterrupted = "70100"

// describe names the failing statement, its place in the whole text, and what the engine said.
func (j *job) describe(e *statementError) string {
	s := &j.statements[e.index]
	at := s.place
	text := j.brief(e.err)
	_, stopped := errors.AsType[*stoppedError](e.err)
	switch r := j.refusal(e.err); {
	case r != nil && s.mayHoldSecret():
		text = fmt.Sprintf("error %d of %s; its message may quote what the statement keeps secret, and is not shown", r.number, j.target.engine.kind())
	case r != nil && r.line > 1:
		at = place{line: placeOf(j.text, s.offset).line + r.line - 1, char: 1}
	case r == nil && !stopped && !errors.Is(e.err, errEndedTransaction):
		text = "the connection was lost: " + text
		if !j.transaction {
			text += "; whether the statement took effect is unknown"
		}
	}
	return fmt.Sprintf("statement %d of %d (line %d, character %d): %s", e.index+1, len(j.statements), at.line, at.char, text)
}

// brief is an error's text with the first line of what the engine said.
func (j *job) brief(err error) string {
	r := j.refusal(err)
	if r == nil {
		return cut(scheduler.WithoutPlaces(err), maxMessage)
	}
	// What is wrapped around the engine's words stands before them.
	inner := err
	for next := errors.Unwrap(inner); next != nil; next = errors.Unwrap(inner) {
		inner = next
	}
	text, whole := err.Error(), inner.Error()
	if len(text) > len(whole) && text[len(text)-len(whole):] == whole {
		return text[:len(text)-len(whole)] + r.text
	}
	return r.text
}
