package embeddedpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// poll is how often a state is looked at that nobody announces.
const poll = 10 * time.Millisecond

// server is one postmaster, from its start to its end.
type server struct {
	pid  int
	done chan struct{} // closed when it has been reaped
	log  *record
}

// launch starts postgres and waits until it takes connections.
func (c *Cluster) launch(ctx context.Context) (*server, error) {
	out, closeLog, err := c.openLog()
	if err != nil {
		return nil, err
	}
	s := &server{done: make(chan struct{}), log: &record{w: out}}
	cmd := exec.Command(filepath.Join(c.bin.dir, "postgres"), c.arguments()...) //nolint:noctx // it outlives ctx
	cmd.Dir, cmd.Env = "/", append(environment(), c.config.Env...)
	// A group of its own: Ctrl-C at a terminal is for the parent, which stops the server in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as.credential(), Setpgid: true}
	death := syscall.SIGINT // fast shutdown
	if c.config.Ephemeral {
		death = syscall.SIGQUIT // at once, nobody needs the data
	}
	dieWithParent(cmd.SysProcAttr, death)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.WaitDelay = time.Second

	started := make(chan error)
	go func() {
		defer close(s.done)
		// The kernel's signal goes by the thread that forked, so it stays until the server ended.
		runtime.LockOSThread()
		err := cmd.Start()
		if err == nil {
			s.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
		closeLog()
	}()
	if err := <-started; err != nil {
		<-s.done
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	if err := s.ready(ctx, c.place.data()); err != nil {
		s.end(context.WithoutCancel(ctx), syscall.SIGQUIT, time.Second)
		return nil, err
	}
	return s, nil
}

func (c *Cluster) arguments() []string {
	settings := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"port":                    strconv.Itoa(c.port),
		"unix_socket_directories": c.place.sockets,
		"unix_socket_permissions": "0700",
		"wal_level":               "logical",
		"max_connections":         "200",
		"shared_buffers":          "64MB",
		"logging_collector":       "off",
	}
	if c.config.Ephemeral {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
		// Not synchronous_commit: a commit that was answered survives Kill, as the kernel does.
	}
	maps.Copy(settings, c.config.Settings)
	args := []string{"-D", c.place.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

func (c *Cluster) openLog() (io.Writer, func(), error) {
	if c.config.Log != nil {
		return c.config.Log, func() {}, nil
	}
	file, err := os.OpenFile(filepath.Join(c.place.root, "server.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return file, func() { _ = file.Close() }, nil
}

// ready waits until the postmaster says so in its pid file.
func (s *server) ready(ctx context.Context, data string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // recovery after a crash may take a while
	defer cancel()
	for {
		// "standby": it takes connections too, for reading.
		if pid, status := readPidFile(data); pid == s.pid && (status == "ready" || status == "standby") {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("PostgreSQL didn't start: %s", s.log.last())
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL didn't get ready: %w: %s", context.Cause(ctx), s.log.last())
		case <-time.After(poll):
		}
	}
}

// end asks with sig, after patience (or ctx) with SIGQUIT, and takes the rest by
// force. It returns when all of its processes are gone.
func (s *server) end(ctx context.Context, sig syscall.Signal, patience time.Duration) {
	for _, step := range []struct {
		sig      syscall.Signal
		patience time.Duration
	}{{sig, patience}, {syscall.SIGQUIT, 10 * time.Second}} {
		if s.exited() {
			return
		}
		// One that Suspend froze, and what it forked, hears nothing otherwise.
		s.signal(syscall.SIGCONT)
		_ = syscall.Kill(s.pid, step.sig)
		select {
		case <-s.done:
			return
		case <-ctx.Done():
		case <-time.After(step.patience):
		}
		ctx = context.WithoutCancel(ctx)
	}
	s.kill()
}

// kill ends the postmaster and everything that it forked, as a crash would.
func (s *server) kill() {
	if s.exited() {
		return
	}
	_ = syscall.Kill(s.pid, syscall.SIGSTOP) // no more forks
	family := children(s.pid)
	for _, pid := range append([]int{s.pid}, family...) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-s.done
	// Shared memory is free when the last one has let go of it.
	for _, pid := range family {
		for !gone(pid) {
			<-time.After(poll)
		}
	}
}

// signal reaches the postmaster, which then forks no more if that stops it, and
// all that it forked.
func (s *server) signal(sig syscall.Signal) {
	_ = syscall.Kill(s.pid, sig)
	for _, pid := range children(s.pid) {
		_ = syscall.Kill(pid, sig)
	}
}

func (s *server) exited() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// readPidFile returns pid and status of the postmaster ("starting", "ready",
// "stopping", …), or 0 where there is none.
func readPidFile(data string) (int, string) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || len(lines) < 8 {
		return pid, ""
	}
	return pid, strings.TrimSpace(lines[7])
}

// awaitNone returns nil once no server runs in data. One whose parent was killed a
// moment ago is on its way out, though it may not say so yet, and is waited for.
func awaitNone(ctx context.Context, data string) error {
	const grace, patience = 2 * time.Second, 30 * time.Second
	data, err := filepath.EvalSymlinks(data)
	if err != nil {
		return err
	}
	for began := time.Now(); ; {
		pid, status := readPidFile(data)
		if pid == 0 || !worksIn(pid, data) {
			return nil
		}
		inUse := fmt.Errorf("a server (pid %d) runs in %s: %w", pid, data, ErrInUse)
		waited := time.Since(began)
		if waited > patience || (waited > grace && status != "stopping") {
			return inUse
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), inUse)
		case <-time.After(poll):
		}
	}
}

// environment is what a server process gets: nothing of PG*, messages in English.
func environment() []string {
	env := []string{"LC_ALL=C", "HOME=/", "PATH=" + os.Getenv("PATH")}
	if path, ok := os.LookupEnv("LD_LIBRARY_PATH"); ok {
		env = append(env, "LD_LIBRARY_PATH="+path)
	}
	return env
}

// record passes the log on and keeps its end for an error's text.
type record struct {
	mu  sync.Mutex
	w   io.Writer
	end []byte
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = append(r.end, p...)
	if len(r.end) > 4096 {
		r.end = append([]byte(nil), r.end[len(r.end)-2048:]...)
	}
	return r.w.Write(p)
}

func (r *record) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return lastLines(r.end)
}

// lastLines is the end of an output as one line.
func lastLines(out []byte) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-6):], []byte("; ")))
}
