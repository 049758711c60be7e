package embeddedpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const superuser = "postgres"

var (
	// ErrInUse says that a running process holds the cluster; the text names its pid.
	ErrInUse = errors.New("the cluster is in use")
	// ErrVersion says that another major version made the data directory.
	ErrVersion = errors.New("the cluster was made by another version of PostgreSQL")
	// ErrStopped says that Stop has been called.
	ErrStopped = errors.New("the cluster was stopped")
)

// Config says what to start.
type Config struct {
	// Dir holds the cluster; required unless Ephemeral. Made where it doesn't exist.
	// Ephemeral: where its directory is made; default the system's temporary directory.
	Dir string
	// Port on 127.0.0.1; 0: the one that this cluster had last, else a free one.
	Port int
	// Fresh removes what the cluster holds, and makes it anew.
	Fresh bool
	// Settings of the server, over the defaults (wal_level logical, 200 connections).
	Settings map[string]string
	// Ephemeral is for tests: quick instead of durable, removed by Stop.
	Ephemeral bool
	// Env are more variables of the server's environment, NAME=value.
	Env []string
	// Log gets what the server writes; default the file server.log beside the data.
	Log io.Writer
	// BinDir holds initdb and postgres; default: searched for, see Find.
	BinDir string
}

func (c Config) validate() error {
	if c.Dir == "" && !c.Ephemeral {
		return errors.New("a directory is required for a cluster that stays")
	}
	if c.Port < 0 || c.Port > 65535 {
		return fmt.Errorf("port %d: must be between 0 and 65535", c.Port)
	}
	return nil
}

// Cluster is a PostgreSQL of our own. Its methods may be called from many
// goroutines; those that start and stop wait for each other.
type Cluster struct {
	config   Config
	bin      binaries
	as       user
	place    *place
	port     int
	password string

	mu      sync.Mutex
	server  *server // the last one; it may have ended
	stopped bool
}

// Start makes the cluster where there is none, starts it and returns when it
// takes connections. ctx bounds the start, not the cluster.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	c := &Cluster{config: config, as: processUser()}
	var err error
	if c.place, err = settle(config, c.as); err == nil {
		err = c.start(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", errors.Join(err, c.place.release()))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if c.config.Fresh {
		if err := c.place.begin(); err != nil {
			return fmt.Errorf("remove the old cluster: %w", err)
		}
	}
	major, err := c.place.major()
	if err != nil {
		return err
	}
	if c.bin, err = find(ctx, c.config.BinDir, major, c.as); err != nil {
		return err
	}
	if major != 0 && major != c.bin.major {
		return fmt.Errorf("%w: %s is of version %d, the binaries in %s are of version %d; "+
			"install PostgreSQL %d, or move the directory away to begin anew",
			ErrVersion, c.place.data(), major, c.bin.dir, c.bin.major, major)
	}
	if major == 0 {
		if err := c.place.create(ctx, c.bin, c.as, c.config.Ephemeral); err != nil {
			return err
		}
	}
	password, err := os.ReadFile(c.place.password())
	if err != nil {
		return err
	}
	c.password = strings.TrimSpace(string(password))
	if err := awaitNone(ctx, c.place.data()); err != nil {
		return err
	}
	// Somebody may take a free port between the look and the bind.
	for try := 0; ; try++ {
		if c.port, err = c.place.freePort(ctx, c.config.Port); err != nil {
			return err
		}
		c.server, err = c.launch(ctx)
		if err == nil {
			return os.WriteFile(c.place.portFile(), []byte(strconv.Itoa(c.port)+"\n"), 0o600)
		}
		if c.config.Port != 0 || try == 3 || ctx.Err() != nil || !strings.Contains(err.Error(), "could not bind") {
			return err
		}
	}
}

// Dir is where the cluster lies: Config.Dir, or elsewhere where the server's user
// can't reach that.
func (c *Cluster) Dir() string { return c.place.root }

// SocketDir holds the unix socket; only the server's user and root can enter it.
func (c *Cluster) SocketDir() string { return c.place.sockets }

// Port is that of TCP on 127.0.0.1 and in the name of the socket; it stays over Restart.
func (c *Cluster) Port() int { return c.port }

// PID is that of the postmaster, the last one where none runs.
func (c *Cluster) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server.pid
}

// Done is closed when the postmaster that runs now has ended, whatever the cause.
func (c *Cluster) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server.done
}

// URL connects to a database as the superuser over TCP. It holds the password.
func (c *Cluster) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(superuser, c.password), Path: "/" + database}
	u.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port))
	u.RawQuery = "sslmode=disable"
	return u.String()
}

// SocketURL connects to a database as the superuser over the unix socket. It
// holds no secret.
func (c *Cluster) SocketURL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database}
	u.RawQuery = url.Values{"host": {c.place.sockets}, "port": {strconv.Itoa(c.port)}}.Encode()
	return u.String()
}

// Halt stops the server and keeps the cluster for Restart: fast, that is without
// waiting for clients, and at once where that takes longer than 30 s or ctx.
func (c *Cluster) Halt(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server.end(ctx, syscall.SIGINT, 30*time.Second)
	return nil
}

// Stop halts the server for good, and removes an ephemeral cluster.
func (c *Cluster) Stop(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	sig := syscall.SIGINT
	if c.config.Ephemeral {
		sig = syscall.SIGQUIT // no checkpoint for data that is removed
	}
	c.server.end(ctx, sig, 30*time.Second)
	if err := c.place.release(); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	return nil
}

// Kill is a fault for tests: it ends every process of the server with SIGKILL
// and returns when they are gone. Restart recovers.
func (c *Cluster) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server.kill()
}

// Restart halts the server where it runs and starts it again on the same port.
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return fmt.Errorf("restart PostgreSQL: %w", ErrStopped)
	}
	c.server.end(ctx, syscall.SIGINT, 30*time.Second)
	next, err := c.launch(ctx)
	if err != nil {
		return fmt.Errorf("restart PostgreSQL: %w", err)
	}
	c.server = next
	return nil
}

// Suspend is a fault for tests: it freezes every process of the server until
// Resume. Clients see silence.
func (c *Cluster) Suspend() { c.signal(syscall.SIGSTOP) }

// Resume ends Suspend.
func (c *Cluster) Resume() { c.signal(syscall.SIGCONT) }

func (c *Cluster) signal(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.server.exited() {
		c.server.signal(sig)
	}
}
