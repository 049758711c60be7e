package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// UntilSignal ends its context at the first SIGINT, SIGTERM or SIGHUP. A second SIGINT or SIGTERM ends the process at once: the
// first one asked nicely. From the moment on that anybody can see the first (the context is over, a drain says that it began)
// the second has its default effect: a signal that is caught then would be swallowed. A terminal that is closed may send SIGHUP
// more than once, and means no haste by that; who starts the process without SIGHUP, as nohup does, has none.
func UntilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	caught := make(chan os.Signal, 2)
	hangup := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(hangup, syscall.SIGHUP)
	}
	go func() {
		select {
		case <-caught:
		case <-hangup:
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
		signal.Stop(hangup)
		cancel()
	}
}
