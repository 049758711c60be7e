package embeddedpg

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// fallback holds the clusters whose own directory the server's user can't reach.
const fallback = "/var/lib/rowrun-dev"

// longestSocket is what every system takes as the path of a socket (Linux 107 bytes, macOS 103).
const longestSocket = 103

// place is where one cluster lies: root/data, root/s (the socket), root/password, root/server.log.
type place struct {
	root    string
	sockets string
	lock    *os.File // held from Start to Stop
	remove  []string // what Stop removes: made by this Start
}

func (p *place) data() string     { return filepath.Join(p.root, "data") }
func (p *place) password() string { return filepath.Join(p.root, "password") }
func (p *place) portFile() string { return filepath.Join(p.root, "port") }

// release gives the place up. A cluster that is to stay stays.
func (p *place) release() error {
	errs := make([]error, 0, len(p.remove)+1)
	for _, path := range p.remove {
		errs = append(errs, os.RemoveAll(path))
	}
	if p.lock != nil {
		errs = append(errs, unlock(p.lock))
	}
	return errors.Join(errs...)
}

// settle chooses and prepares the directories. What it made for this start
// alone is in remove, also where it fails.
func settle(c Config, as user) (*place, error) {
	p := &place{}
	if err := p.chooseRoot(c, as); err != nil {
		return p, err
	}
	var err error
	p.lock, err = lock(filepath.Join(p.root, "lock"))
	if err != nil {
		return p, fmt.Errorf("%s: %w", p.root, err)
	}
	p.sockets = filepath.Join(p.root, "s")
	if len(p.sockets)+len("/.s.PGSQL.65535") > longestSocket {
		if p.sockets, err = temporary("", "rowrun-s-", as); err != nil {
			return p, fmt.Errorf("make a directory for the socket: %w", err)
		}
		p.remove = append(p.remove, p.sockets)
	} else if err = os.MkdirAll(p.sockets, 0o700); err != nil {
		return p, err
	}
	return p, as.own(p.sockets)
}

func (p *place) chooseRoot(c Config, as user) error {
	if c.Ephemeral {
		root, err := temporary(c.Dir, "rowrun-pg-", as)
		if err != nil {
			return fmt.Errorf("make a directory for the cluster: %w", err)
		}
		p.root, p.remove = root, append(p.remove, root)
		return nil
	}
	root, err := rootOf(c.Dir, as)
	if err != nil {
		return err
	}
	mode := os.FileMode(0o700)
	if as.dropped {
		// The server's user passes through to data and s, which are its own.
		mode = 0o711
		if filepath.Dir(root) == fallback {
			if err := makeDir(fallback, mode); err != nil {
				return err
			}
		}
	}
	if err := makeDir(root, mode); err != nil {
		return err
	}
	if !as.reaches(root) {
		return fmt.Errorf("user %s, who runs the server, can't reach %s", as.name, root)
	}
	p.root = root
	return nil
}

// rootOf is where the cluster of a directory lies: there, or elsewhere where the server's user can't reach that.
func rootOf(dir string, as user) (string, error) {
	root, err := filepath.Abs(dir)
	if err != nil || !as.dropped || as.reaches(root) {
		return root, err
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(fallback, hex.EncodeToString(sum[:6])), nil
}

// begin removes what the cluster holds; its directory stays. The lock is held.
func (p *place) begin() error {
	return errors.Join(os.RemoveAll(p.data()), os.RemoveAll(p.password()))
}

// makeDir makes dir with mode, whatever the umask; one that exists stays as it is.
func makeDir(dir string, mode os.FileMode) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return err
	}
	return os.Chmod(dir, mode) //nolint:gosec // 0711: to pass through, not to look
}

// temporary makes a private directory that as can reach: under parent, else the
// system's temporary directory, else /tmp.
func temporary(parent, pattern string, as user) (string, error) {
	parents := []string{parent}
	if parent == "" {
		parents = []string{os.TempDir(), "/tmp", "/var/tmp"}
	}
	for _, parent := range parents {
		if !as.reaches(parent) || (pattern == "rowrun-s-" && len(parent) > 60) {
			continue
		}
		dir, err := os.MkdirTemp(parent, pattern)
		if err != nil {
			return "", err
		}
		return dir, as.own(dir)
	}
	return "", fmt.Errorf("user %s, who runs the server, can't reach %s", as.name, strings.Join(parents, ", "))
}

// lock keeps two parents from making or starting one cluster at once. The kernel
// lets go of it when the process ends.
func lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(path)
		return nil, errors.Join(fmt.Errorf("%w (pid %s)", ErrInUse, strings.TrimSpace(string(holder))), file.Close())
	}
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(err, unlock(file))
	}
	if _, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return nil, errors.Join(err, unlock(file))
	}
	return file, nil
}

// unlock gives a lock up at once. Close alone would leave it to whatever child another goroutine has forked and that has not executed its
// program yet: until then the child holds the same open file.
func unlock(file *os.File) error {
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}

// create makes the cluster where there is none yet. It becomes visible under its
// name when it is complete, so that a start that was killed leaves none in part.
func (p *place) create(ctx context.Context, bin binaries, as user, ephemeral bool) error {
	password, err := p.makePassword(as)
	if err != nil {
		return err
	}
	half, err := filepath.Glob(filepath.Join(p.root, "new-*"))
	if err != nil {
		return err
	}
	for _, dir := range half { // of a start that was killed; the lock says that none is under way
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	parent, err := os.MkdirTemp(p.root, "new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(parent) }()
	if err := as.own(parent); err != nil {
		return err
	}
	if err := initialize(ctx, bin, as, filepath.Join(parent, "data"), p.password(), ephemeral); err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), password, "…"))
	}
	return os.Rename(filepath.Join(parent, "data"), p.data())
}

// initialize runs initdb.
func initialize(ctx context.Context, bin binaries, as user, data, passwordFile string, ephemeral bool) error {
	hostAuth := "scram-sha-256"
	args := []string{"-D", data, "-U", superuser, "-E", "UTF8", "--locale=C", "--auth-local=trust", "--pwfile=" + passwordFile}
	if ephemeral {
		hostAuth = "trust"
		args = append(args, "--no-sync")
	}
	args = append(args, "--auth-host="+hostAuth)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin.dir, "initdb"), args...)
	cmd.Dir, cmd.Env = "/", environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as.credential()}
	cmd.WaitDelay = 5 * time.Second
	dieWithParent(cmd.SysProcAttr, syscall.SIGTERM)
	runtime.LockOSThread() // the kernel's signal goes by the thread that forked
	defer runtime.UnlockOSThread()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, lastLines(out))
	}
	return nil
}

func (p *place) makePassword(as user) (string, error) {
	password := rand.Text()
	if err := os.WriteFile(p.password(), []byte(password+"\n"), 0o600); err != nil {
		return "", err
	}
	return password, as.own(p.password())
}

// major is the version that made the data directory, 0 where there is none.
func (p *place) major() (int, error) {
	text, err := os.ReadFile(filepath.Join(p.data(), "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(p.data()); err == nil {
			return 0, fmt.Errorf("%s is no PostgreSQL cluster (no PG_VERSION in it): move it away", p.data())
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	// Versions before 10 had two numbers.
	return parseMajor(string(text))
}

// freePort is asked for, the cluster's last where it is still free, or any.
func (p *place) freePort(ctx context.Context, asked int) (int, error) {
	if asked != 0 {
		return asked, nil
	}
	last, _ := os.ReadFile(p.portFile())
	for _, port := range []string{strings.TrimSpace(string(last)), "0"} {
		if port == "" {
			continue
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		addr, ok := listener.Addr().(*net.TCPAddr)
		if err := listener.Close(); err != nil || !ok {
			continue
		}
		return addr.Port, nil
	}
	return 0, errors.New("no free port on 127.0.0.1")
}
