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
	"strconv"
	"strings"
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
	*measure.Child

	name   string
	orders io.Closer
}

// hire starts workers and waits for nothing.
func (d *Drill) hire(slots int) error {
	for range d.cfg.Workers {
		cmd := exec.Command(d.cfg.Program, d.cfg.Args...) //nolint:noctx // stop and kill end it
		cmd.Env = os.Environ()
		in, err := cmd.StdinPipe()
		if err != nil {
			return fmt.Errorf("start a worker: %w", err)
		}
		child, err := measure.StartChild(cmd)
		if err != nil {
			return fmt.Errorf("start a worker: %w", err)
		}
		w := &worker{Child: child, name: d.name + "_" + strconv.Itoa(len(d.workers)+1), orders: in}
		d.workers = append(d.workers, w)
		text, err := json.Marshal(orders{d.cfg.URL, d.cfg.DirectURL, w.name, d.queue, slots, d.cfg.Lease})
		if err == nil {
			_, err = in.Write(append(text, '\n'))
		}
		if err != nil {
			return fmt.Errorf("start a worker: %w: %s", err, w.Log)
		}
	}
	return nil
}

// dead says whether a worker has ended by itself, and its last words.
func (d *Drill) dead(from int) error {
	for _, w := range d.workers[from:] {
		select {
		case <-w.Exited:
			return fmt.Errorf("worker %s ended by itself: %s", w.name, strings.TrimSpace(w.Log.String()))
		default:
		}
	}
	return nil
}

// kill ends a worker as a crash would.
func (w *worker) kill() {
	_ = w.Process.Kill() // one that has ended is reaped below
	<-w.Exited
	_ = w.orders.Close()
}

// stop has a worker drain; one that doesn't is killed. Called again it does nothing.
func (w *worker) stop() {
	_ = w.orders.Close()
	timer := time.AfterFunc(10*time.Second, func() { _ = w.Process.Kill() })
	defer timer.Stop()
	<-w.Exited
}
