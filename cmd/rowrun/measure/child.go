package measure

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// kept is how much of the end of what a child writes to its standard error is kept, in bytes.
const kept = 2000

// Child is a process that ends with this one, and that a terminal's Ctrl-C spares: this one ends its children in order.
type Child struct {
	*exec.Cmd
	Log    *Tail         // the end of its standard error
	Exited chan struct{} // closed when it has been reaped
	Err    error         // how it ended; to be read when Exited is closed
}

// StartChild starts a command, whose standard error it takes.
func StartChild(cmd *exec.Cmd) (*Child, error) {
	c := &Child{Cmd: cmd, Log: &Tail{}, Exited: make(chan struct{})}
	cmd.Stderr = c.Log
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	ownGroup(cmd.SysProcAttr)
	dieWithParent(cmd.SysProcAttr)
	started := make(chan error)
	go func() {
		defer close(c.Exited)
		// The kernel's signal goes by the thread that forked, so it stays until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.Err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// Tail keeps the end of what is written to it.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-kept):]
	return len(p), nil
}

// String is that end.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
