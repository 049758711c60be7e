package dbexec_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler/dbexec"
)

// server is the MariaDB of this package's tests, or the MySQL that ROWRUN_MYSQLD is the program of: started by the first test that asks,
// in a directory of its own, by whoever runs the tests.
type server struct {
	engine          dbexec.Engine
	dir, socket, ca string
	port            int
	process         *exec.Cmd
	databases       atomic.Int64
}

var (
	theServer   *server    //nolint:gochecknoglobals // one server for all tests: each takes seconds to start
	errOfServer error      //nolint:gochecknoglobals // why there is none
	startOnce   sync.Once  //nolint:gochecknoglobals // of theServer
	serverLock  sync.Mutex //nolint:gochecknoglobals // of theServer
)

func stopServer() {
	serverLock.Lock()
	defer serverLock.Unlock()
	if theServer == nil {
		return
	}
	_ = theServer.process.Process.Signal(syscall.SIGTERM)
	_ = theServer.process.Wait()
	_ = os.RemoveAll(theServer.dir)
}

// mariadbd finds MariaDB's program, which .ci/ensure mariadb installs.
func mariadbd() (string, error) {
	for _, path := range []string{"mariadbd", "/usr/sbin/mariadbd", "/usr/libexec/mariadbd"} {
		if found, err := exec.LookPath(path); err == nil {
			return found, nil
		}
	}
	return "", errors.New("mariadbd is missing: .ci/ensure mariadb")
}

func start() (*server, error) {
	engine, program, err := dbexec.MySQL, os.Getenv("ROWRUN_MYSQLD"), error(nil)
	if program == "" {
		engine = dbexec.MariaDB
		program, err = mariadbd()
	}
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rowrun-mysql-") // short: a socket's path is
	if err != nil {
		return nil, err
	}
	s := &server{engine: engine, dir: dir, socket: filepath.Join(dir, "s"), ca: filepath.Join(dir, "ca.pem")}
	if err := s.certify(); err != nil {
		return nil, err
	}
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	options := []string{
		"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--user=" + me.Username, "--innodb-buffer-pool-size=32M",
		"--innodb-flush-log-at-trx-commit=0", "--skip-log-bin", "--secure-file-priv=", "--log-error=" + filepath.Join(dir, "log"),
	}
	if err := s.initialize(program, options); err != nil {
		return nil, errors.Join(err, s.log())
	}
	if engine == dbexec.MySQL {
		options = append(options, "--mysqlx=OFF")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a port of this machine
	if err != nil {
		return nil, err
	}
	s.port = listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	s.process = exec.Command(program, append(options, "--socket="+s.socket, "--bind-address=127.0.0.1", //nolint:noctx // stopServer ends it
		"--port="+strconv.Itoa(s.port), "--pid-file="+filepath.Join(dir, "pid"), "--ssl-ca="+s.ca,
		"--ssl-cert="+filepath.Join(dir, "cert.pem"), "--ssl-key="+filepath.Join(dir, "key.pem"))...)
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	db, err := s.open("mysql")
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	for deadline := time.Now().Add(patience); ; {
		err := db.Ping() //nolint:noctx // bounded by the loop
		if err == nil {
			return s, nil
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(err, s.log())
		}
		<-time.After(20 * time.Millisecond)
	}
}

// initialize makes the server's own tables.
func (s *server) initialize(program string, options []string) error {
	if err := os.Mkdir(filepath.Join(s.dir, "data"), 0o700); err != nil {
		return err
	}
	step, text := "--initialize-insecure", ""
	if s.engine == dbexec.MariaDB {
		step, text = "--bootstrap", "create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n"
		for _, name := range []string{"mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"} {
			tables, err := os.ReadFile("/usr/share/mysql/" + name)
			if err != nil {
				return err
			}
			text += string(tables) + "\n"
		}
	}
	first := exec.Command(program, append(options, step)...) //nolint:noctx // it ends by itself
	first.Stdin = strings.NewReader(text)
	if out, err := first.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, step, err, out)
	}
	return nil
}

// log is what the server wrote.
func (s *server) log() error {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	return errors.Join(errors.New(string(text)), err)
}

// certify makes a certificate of 127.0.0.1 that is its own authority.
func (s *server) certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	is := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "rowrun's tests"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	made, err := x509.CreateCertificate(rand.Reader, is, is, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made})
	return errors.Join(
		os.WriteFile(s.ca, certificate, 0o600),
		os.WriteFile(filepath.Join(s.dir, "cert.pem"), certificate, 0o600),
		os.WriteFile(filepath.Join(s.dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
	)
}

func (s *server) open(database string) (*sql.DB, error) {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName, c.Logger = "root", "unix", s.socket, database, &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// theServerOf returns the server, which the first test starts.
func theServerOf(t testing.TB) *server {
	t.Helper()
	startOnce.Do(func() {
		serverLock.Lock()
		defer serverLock.Unlock()
		theServer, errOfServer = start()
	})
	require.NoError(t, errOfServer)
	return theServer
}

// newDatabase returns a database of the test's own: as a target, reached by a login that may no more than what is in it, and as root.
func newDatabase(t testing.TB) (dbexec.Target, *sql.DB) {
	t.Helper()
	s := theServerOf(t)
	name := fmt.Sprintf("t%d", s.databases.Add(1))
	root, err := s.open("mysql")
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	password := "p:/?#@ '" + name
	execute(t, root, "CREATE DATABASE "+name)
	execute(t, root, "CREATE USER "+name+"@'%' IDENTIFIED BY '"+strings.ReplaceAll(password, "'", "''")+"'")
	execute(t, root, "GRANT ALL ON "+name+".* TO "+name+"@'%'")
	db, err := s.open(name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	address := url.URL{
		Scheme: strings.ToLower(string(s.engine)), User: url.UserPassword(name, password), Host: "127.0.0.1:" + strconv.Itoa(s.port), Path: "/" + name,
		RawQuery: url.Values{"ssl-mode": {"disabled"}}.Encode(),
	}
	return dbexec.Target{Engine: s.engine, URL: address.String()}, db
}

// ofMariaDB is newDatabase for what MySQL doesn't have.
func ofMariaDB(t testing.TB) (dbexec.Target, *sql.DB) {
	t.Helper()
	if engine := theServerOf(t).engine; engine != dbexec.MariaDB {
		t.Skip("the statements are MariaDB's alone, and this is " + engine)
	}
	return newDatabase(t)
}
