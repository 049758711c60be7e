package dbexec

import (
	"context"
	"errors"
	"net"

	"github.com/rowrun/rowrun/scheduler"
)

// Facts are what can be said of a target.
type Facts struct {
	Engine  Engine
	Version string
	Login   string   // who the server says this is; the file of SQLite
	Notes   []string // worth knowing
	Doubts  []string // will hurt
}

// Look connects to a target and says what is there. It makes nothing, a file of SQLite's neither. Its error is in words, without the
// URL.
func Look(ctx context.Context, t Target) (Facts, error) {
	known, err := newTarget(t, "target", nil)
	if err != nil {
		return Facts{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	if file, ok := known.engine.(*sqliteEngine); ok && file.toBeMade() {
		return file.lookBefore(ctx, known)
	}
	s, err := known.engine.connect(ctx, known, "rowrun doctor")
	if err != nil {
		return Facts{}, inWords(known.engine, err)
	}
	defer s.close(ctx)
	facts, err := known.engine.look(ctx, s)
	if err != nil {
		return Facts{}, inWords(known.engine, err)
	}
	return facts, nil
}

func inWords(e engine, err error) error {
	if r := e.read(err); r != nil {
		return errors.New(r.text)
	}
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return errors.New(scheduler.WithoutPlaces(network))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer within " + connectLimit.String())
	}
	return err
}
