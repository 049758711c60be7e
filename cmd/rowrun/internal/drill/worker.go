package drill

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/measure"
	"github.com/rowrun/rowrun/scheduler/replica"
)

// orders are what a worker reads first from its standard input: an address on a command line or in a variable could be seen
// by others of the machine.
type orders struct {
	URL       string        `json:"url"`
	DirectURL string        `json:"direct_url"`
	Name      string        `json:"name"`
	Queue     string        `json:"queue"`
	Slots     int           `json:"slots"`
	Lease     time.Duration `json:"lease"`
}

// ever is a retention that nothing outlives: workers remove nothing of others.
const ever = 100 * 365 * 24 * time.Hour

// Work is a worker: it serves until its standard input ends, as it does when the drill ends, however that comes about.
func Work(ctx context.Context, stdin io.Reader, log zerolog.Logger) error {
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return errors.New("no orders came: `rowrun drill` starts its workers itself")
	}
	var o orders
	if err := json.Unmarshal(line, &o); err != nil {
		return errors.New("the orders can't be read: `rowrun drill` starts its workers itself")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		stop()
	}()
	return replica.Run(ctx, o.URL, replica.Config{
		Executors: map[string]replica.Executor{Type: replica.ExecutorFunc(idle)},
		Name:      o.Name, Queues: []string{o.Queue}, Concurrency: o.Slots, StaleAfter: o.Lease, TaskTimeout: -1, DrainTimeout: time.Second,
		Retention: ever, RetentionFailed: ever, DirectURL: o.DirectURL, MaxConns: 5, Log: log,
	})
}

// idle is what a run of the drill does: nothing, for as long as its payload says.
func idle(ctx context.Context, run *replica.TaskRun) (replica.Result, error) {
	var p struct{ Sleep string }
	if err := run.Decode(&p); err != nil {
		return replica.Result{}, err
	}
	length, err := time.ParseDuration(p.Sleep)
	if err != nil {
		return replica.Result{}, replica.BadInput("sleep: %v", err)
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return replica.Result{}, context.Cause(ctx)
	case <-timer.C:
		return replica.Result{}, nil
	}
}

// worker is a process of the drill's.
type worker struct {
	name   string
	cmd    *exec.Cmd
	orders io.Closer
	log    *tail
	exited chan struct{} // closed when it has been reaped
}

// hire starts workers and waits for nothing.
func (d *Drill) hire(slots int) error {
	for range d.cfg.Workers {
		w := &worker{name: d.name + "_" + strconv.Itoa(len(d.workers)+1), log: &tail{}, exited: make(chan struct{})}
		w.cmd = exec.Command(d.cfg.Program, d.cfg.Args...) //nolint:noctx // stop and kill end it
		w.cmd.Env = os.Environ()
		w.cmd.Stderr = w.log
		w.cmd.WaitDelay = time.Second
		// A group of its own: Ctrl-C at a terminal is for the drill, which stops its workers in order.
		w.cmd.SysProcAttr = &syscall.SysProcAttr{}
		measure.OwnGroup(w.cmd.SysProcAttr)
		measure.DieWithParent(w.cmd.SysProcAttr)
		in, err := w.cmd.StdinPipe()
		if err != nil {
			return fmt.Errorf("start a worker: %w", err)
		}
		w.orders = in
		started := make(chan error)
		go func() {
			defer close(w.exited)
			// The kernel's signal goes by the thread that forked, so it stays until the worker ended.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			err := w.cmd.Start()
			started <- err
			if err == nil {
				_ = w.cmd.Wait() // killed, most often
			}
		}()
		if err := <-started; err != nil {
			return fmt.Errorf("start a worker: %w", err)
		}
		d.workers = append(d.workers, w)
		text, err := json.Marshal(orders{d.cfg.URL, d.cfg.DirectURL, w.name, d.queue, slots, d.cfg.Lease})
		if err == nil {
			_, err = in.Write(append(text, '\n'))
		}
		if err != nil {
			return fmt.Errorf("start a worker: %w: %s", err, w.log)
		}
	}
	return nil
}

// dead says whether a worker has ended by itself, and its last words.
func (d *Drill) dead(from int) error {
	for _, w := range d.workers[from:] {
		select {
		case <-w.exited:
			return fmt.Errorf("worker %s ended by itself: %s", w.name, strings.TrimSpace(w.log.String()))
		default:
		}
	}
	return nil
}

// kill ends a worker as a crash would.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill() // one that has ended is reaped below
	<-w.exited
	_ = w.orders.Close()
}

// stop has a worker drain; one that doesn't is killed. Called again it does nothing.
func (w *worker) stop() {
	_ = w.orders.Close()
	timer := time.AfterFunc(10*time.Second, func() { _ = w.cmd.Process.Kill() })
	defer timer.Stop()
	<-w.exited
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-1000):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
