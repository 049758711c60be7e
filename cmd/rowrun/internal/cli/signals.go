package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// UntilSignal ends its context at the first SIGINT or SIGTERM. A second one ends the process at once: the first one
// asked nicely. From the moment on that anybody can see the first (the context is over, a drain says that it began)
// the second has its default effect: a signal that is caught then would be swallowed.
func UntilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-caught:
		case <-ctx.Done():
			return
		}
		signal.Stop(caught)
		select {
		case again := <-caught:
			// It came behind the first one, before the default was back.
			raise(again)
		default:
		}
		cancel()
	}()
	return ctx, func() {
		signal.Stop(caught)
		cancel()
	}
}
