package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
)

// replica is a process: rowrun serve. Its stream goes nowhere; of its log the end is kept.
type replica struct {
	*measure.Child

	stopped bool

	registered float64 // when its row was written, in seconds of the database's clock
	begun      usage   // just after that
}

// serve starts a replica with --concurrency and waits until it has registered.
func (b *Bench) serve(ctx context.Context, concurrency int, args ...string) (*replica, error) {
	b.served++
	name := b.name + "_" + strconv.Itoa(b.served)
	stream := "off"
	if b.streaming {
		stream = "auto"
	}
	const never = "10000h"
	cmd := exec.Command(b.cfg.Program, slices.Concat([]string{ //nolint:noctx // stop ends it
		"serve", "--http-addr", "off", "--queues", b.name, "--types", "NOOP", "--replica-name", name, "--log-level", "warn",
		"--stream-source", stream, "--concurrency", strconv.Itoa(concurrency),
		"--cleanup-interval", never, "--retention", never, "--stale-sweep-interval", never,
	}, args)...)
	cmd.Env = environment(b.cfg.URL, b.cfg.DirectURL)
	child, err := measure.StartChild(cmd)
	if err != nil {
		return nil, fmt.Errorf("start a replica: %w", err)
	}
	r := &replica{Child: child}
	const row = `-- bench_registered
SELECT extract(epoch FROM started_at)::float8 FROM rowrun.replica_heartbeat WHERE name = $1`
	err = poll(ctx, 5*time.Millisecond, time.Minute, "a replica registers", func() (bool, error) {
		select {
		case <-r.Exited:
			return false, errors.New("it ended by itself")
		default:
		}
		err := b.ask(ctx, row, []any{name}, &r.registered)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	})
	if err == nil {
		r.begun, err = b.used(ctx, r)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("replica: %w", err), r.stop())
	}
	return r, nil
}

// awake waits until a replica says that it is woken by one of sources, and returns by which. One that hears nothing,
// say through a pooler, only sweeps.
func (b *Bench) awake(ctx context.Context, r *replica, sources ...string) (string, error) {
	const q = `-- bench_wake_source
SELECT coalesce(wake_source, '') FROM rowrun.replica_heartbeat WHERE name = $1`
	said := ""
	err := poll(ctx, 20*time.Millisecond, manners, "a replica hears of new runs", func() (bool, error) {
		err := b.ask(ctx, q, []any{r.name()}, &said)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, errors.New("its row is gone")
		}
		return slices.Contains(sources, said), err
	})
	if err != nil && said == "poll" {
		err = fmt.Errorf("%w: notifications don't reach it; see `rowrun doctor`", err)
	}
	return said, err
}

func (r *replica) pid() int { return r.Process.Pid }

func (r *replica) name() string { return r.Args[slices.Index(r.Args, "--replica-name")+1] }

// stop asks for a drain and waits for a clean end; called again it does nothing.
func (r *replica) stop() error {
	if r.stopped {
		return nil
	}
	r.stopped = true
	_ = r.Process.Signal(syscall.SIGTERM) // one that has ended says so below
	timer := time.AfterFunc(time.Minute, func() { _ = r.Process.Kill() })
	defer timer.Stop()
	<-r.Exited
	if r.Err != nil {
		return fmt.Errorf("replica ended: %w; the end of its log:\n%s", r.Err, r.Log)
	}
	return nil
}

// environment is this process's, without what would change a replica, and with the database.
func environment(url, direct string) []string {
	kept := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "ROWRUN_") || strings.HasPrefix(v, "OTEL_") || strings.HasPrefix(v, "DATABASE_URL=")
	})
	kept = append(kept, "ROWRUN_DATABASE_URL="+url)
	if direct != url {
		kept = append(kept, "ROWRUN_DIRECT_URL="+direct)
	}
	return kept
}
