package scheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"unicode/utf8"
)

// errNotReturned is what stands for the answer of an executor that gave none: it ended its goroutine (runtime.Goexit, which
// testing's FailNow calls), so that call doesn't return either.
var errNotReturned error = &Failure{Code: CodePanic, Detail: "the executor ended its goroutine instead of returning (runtime.Goexit, as t.FailNow does)", Retryable: true}

// call runs the executor; a panic is an error like others. Everything that is code of the executor's is called here, the methods
// of its error included: elsewhere a panic of theirs would end the process, with all its runs. What is returned is a *Failure or
// a text.
func (r *running) call(ctx context.Context) (out Result, err error) {
	returned := false
	defer func() {
		p := recover()
		if p == nil && returned {
			return
		}
		line := r.incarnation.s.cfg.Log.Error().Int64("run_id", r.claim.ID).Str("type", r.claim.Type).Bytes("stack", debug.Stack())
		if p == nil {
			line.Msg("executor ended its goroutine")
			return // to nobody: errNotReturned stands for this
		}
		line.Str("panic", inWords(p)).Msg("executor panicked")
		err = &Failure{Code: CodePanic, Detail: "the executor panicked: " + inWords(p), Retryable: true}
	}()
	out, err = r.perform(ctx)
	err = asTold(err)
	returned = true
	return out, err
}

// asTold is an executor's error as it is recorded, so that nobody has to ask it again. One that holds a nil *Failure is an error
// all the same, as it is not nil.
func asTold(err error) error {
	var f *Failure
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &f):
		return errors.New(err.Error())
	case f == nil:
		return errors.New("the executor returned a nil *Failure as its error, which is not nil: it has to return nil itself where nothing failed")
	}
	told := *f
	switch {
	case told.Code == "", told.Code == codeReleased, told.Code == CodeSnoozed && !told.snoozed: // those two alert nobody
		told.Code = CodeError
	}
	return &told
}

// inWords is what a panic was called with; printing it may panic again.
func inWords(p any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("with a %T that can't be printed", p)
		}
	}()
	return fmt.Sprint(p)
}

// perform brings the payload together and has the executor execute the run.
func (r *running) perform(ctx context.Context) (Result, error) {
	if err := r.resolve(ctx); err != nil {
		return Result{}, err
	}
	if !r.incarnation.trusted() {
		// The answer of its claim came late, or this process stood still: others may have declared it dead by now.
		r.cancel(ErrLostContact)
		return Result{}, ErrLostContact
	}
	if r.claim.Unfit != "" {
		return Result{}, BadInput("%s", r.claim.Unfit)
	}
	if !utf8.Valid(r.claim.Payload) {
		// Only a database in SQL_ASCII has such. Decoded they would become other text, which nobody wrote.
		return Result{}, BadInput("the task's payload or the run's input holds bytes that are not UTF-8: write them again, with the client_encoding that they are in")
	}
	ex, ok := r.incarnation.s.cfg.Executors[r.claim.Type]
	if a, aliased := r.rules.aliases[r.claim.Type]; !ok && aliased {
		ex, ok = r.incarnation.s.cfg.Executors[a.of]
		r.claim.Payload = a.rename(r.claim.Payload)
	}
	if !ok {
		return Result{}, &Failure{Code: CodeError, Detail: "this replica has no executor for type " + r.claim.Type, Retryable: true}
	}
	return ex.Execute(ctx, r.handout())
}
