//go:build ha && linux

package ha

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	prefix = "rwha"
	// hub holds two bridges: what is on one doesn't reach what is on the other.
	hub     = prefix + "-hub"
	hubAddr = "10.77.0.1"
	whole   = "br0"
	island  = "br1"
)

// host is a network namespace with one address.
type host struct {
	name string // n1, s1: also the name of its port at the hub
	addr string
}

func (h host) netns() string { return prefix + "-" + h.name }

func ip(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput()
	require.NoError(t, err, "ip %s: %s", strings.Join(args, " "), out)
}

// sweep ends and removes whatever has the prefix, of this run or one that was killed.
func sweep() error {
	out, err := exec.CommandContext(context.Background(), "ip", "netns", "list").Output()
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(name, prefix+"-") {
			continue
		}
		for _, pid := range pids(name) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if out, err := exec.CommandContext(context.Background(), "ip", "netns", "del", name).CombinedOutput(); err != nil {
			return fmt.Errorf("remove namespace %s: %w: %s", name, err, out)
		}
	}
	return nil
}

// pids are the processes in a namespace.
func pids(netns string) []int {
	out, err := exec.CommandContext(context.Background(), "ip", "netns", "pids", netns).Output()
	if err != nil {
		return nil
	}
	var found []int
	for field := range strings.FieldsSeq(string(out)) {
		if pid, err := strconv.Atoi(field); err == nil && pid != os.Getpid() {
			found = append(found, pid)
		}
	}
	return found
}

// makeNetwork joins the hosts by a bridge, in namespaces that have no way out.
func makeNetwork(t *testing.T, hosts ...host) {
	t.Helper()
	ip(t, "netns", "add", hub)
	ip(t, "-n", hub, "link", "set", "lo", "up")
	for _, bridge := range []string{whole, island} {
		ip(t, "-n", hub, "link", "add", bridge, "type", "bridge")
		ip(t, "-n", hub, "link", "set", bridge, "up")
	}
	ip(t, "-n", hub, "addr", "add", hubAddr+"/24", "dev", whole)
	for _, h := range hosts {
		ip(t, "netns", "add", h.netns())
		ip(t, "link", "add", "eth0", "netns", h.netns(), "type", "veth", "peer", "name", h.name, "netns", hub)
		ip(t, "-n", h.netns(), "link", "set", "lo", "up")
		ip(t, "-n", h.netns(), "addr", "add", h.addr+"/24", "dev", "eth0")
		ip(t, "-n", h.netns(), "link", "set", "eth0", "up")
		ip(t, "-n", hub, "link", "set", h.name, "master", whole, "up")
	}
}

// cutOff puts hosts on the island: they reach one another, and nobody else.
func cutOff(t *testing.T, hosts ...host) {
	t.Helper()
	for _, h := range hosts {
		ip(t, "-n", hub, "link", "set", h.name, "master", island)
	}
}

func rejoin(t *testing.T, hosts ...host) {
	t.Helper()
	for _, h := range hosts {
		ip(t, "-n", hub, "link", "set", h.name, "master", whole)
	}
}

// connections are those that a host has to another one's PostgreSQL, each by its own end.
func connections(t *testing.T, from, to host) (ends []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ip", "netns", "exec", from.netns(), "ss", "-Htn", "state", "established", "dst", to.addr, "dport", "=", "5432").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		require.Len(t, fields, 4, line)
		ends = append(ends, fields[2])
	}
	return ends
}

// within runs do on a thread that is in the namespace, and ends with it.
func within[T any](netns string, do func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread goes with this goroutine
		var a answer
		defer func() { got <- a }()
		var file *os.File
		if file, a.err = os.Open("/run/netns/" + netns); a.err != nil {
			return
		}
		defer func() { _ = file.Close() }()
		if a.err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); a.err != nil {
			return
		}
		a.value, a.err = do()
	}()
	a := <-got
	return a.value, a.err
}

// dialer connects from a namespace. Addresses are numbers: nothing is looked up.
func dialer(netns string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		return within(netns, func() (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, network, addr) })
	}
}

func listen(t *testing.T, netns, addr string) net.Listener {
	t.Helper()
	l, err := within(netns, func() (net.Listener, error) {
		var config net.ListenConfig
		return config.Listen(context.Background(), "tcp", addr)
	})
	require.NoError(t, err)
	return l
}

// start runs a program in a namespace, its output in a file. It ends with the namespace at the latest.
func start(t *testing.T, netns, log string, env []string, command ...string) *exec.Cmd {
	t.Helper()
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	require.NoError(t, err)
	cmd := exec.CommandContext(context.Background(), "ip", append([]string{"netns", "exec", netns}, command...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp", "LC_ALL=C.UTF-8"}, env...)
	cmd.Stdout, cmd.Stderr = file, file
	require.NoError(t, cmd.Start())
	_ = file.Close()
	go func() { _ = cmd.Wait() }()
	return cmd
}
