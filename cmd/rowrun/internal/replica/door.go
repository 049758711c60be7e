package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/store/connect"
)

// door is the HTTP address of a process. It is answered before there is a replica: a probe of liveness must not end a process
// that waits for its database.
type door struct {
	front *server.Front
	shut  func() // ends the answers, and returns when they have ended
}

// Run keeps it open until ctx ends: as a part of what is served there, it is shut together with the other parts.
func (d *door) Run(ctx context.Context) error {
	<-ctx.Done()
	d.shut()
	return nil // what was wrong with it is told by behindDoor
}

// behindDoor binds addr and runs serve while it is answered; addr "": nil is served at. url is where the database is. The context of serve
// ends with ctx, and where the address can't be answered any more.
func behindDoor(ctx context.Context, addr, url string, log zerolog.Logger, serve func(context.Context, *door) error) error {
	if addr == "" {
		return serve(ctx, nil)
	}
	front, err := server.NewFront(server.FrontConfig{Addr: addr, Log: log, Away: func(ctx context.Context) error {
		if err := connect.Try(ctx, url); err != nil {
			return errors.New("the database was not reached yet: " + connect.Diagnose(err).Text)
		}
		return nil
	}})
	if err != nil {
		return fmt.Errorf("--http-addr: %w", err)
	}
	work, stopWork := context.WithCancel(ctx)
	defer stopWork()
	around, stopAround := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAround()
	ended := make(chan struct{})
	var answering errgroup.Group
	answering.Go(func() error {
		defer close(ended)
		defer stopWork()
		return front.Run(around)
	})
	err = serve(work, &door{front: front, shut: func() {
		stopAround()
		<-ended
	}})
	stopAround()
	return errors.Join(err, answering.Wait())
}
