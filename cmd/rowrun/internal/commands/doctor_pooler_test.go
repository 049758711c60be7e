package commands

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/doctor"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/connect"
	"github.com/rowrun/rowrun/store/storetest"
)

// Two ways to one server that differ in their text are a pooler and its server as far as doctor can know.
func TestDoctorFindsSessionsOfAPoolerWithoutBounds(t *testing.T) {
	t.Parallel()
	dsn := storetest.New(t)
	rowruntest.Change(t, rowruntest.Connect(t, dsn), aliveReplica)
	code, findings := diagnosis(t, dsn+"&application_name=pooled", "--direct-url", dsn)
	require.Equal(t, cli.ExitFailed, code)
	f := one(t, findings, "pooler", doctor.Warning)
	require.Contains(t, f.Text, "statement_timeout")
	require.Contains(t, f.Fix, `ALTER ROLE "postgres" SET statement_timeout`)
	_, findings = diagnosis(t, dsn+"&statement_timeout=1000&idle_in_transaction_session_timeout=1000", "--direct-url", dsn)
	require.Empty(t, of(findings, "pooler"))
}

// Through what swallows notifications.
func TestDoctorFindsAPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	dsn := storetest.New(t)
	rowruntest.Change(t, rowruntest.Connect(t, dsn), aliveReplica)
	code, findings := diagnosis(t, deafTo(t, dsn))
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, one(t, findings, "pooler", doctor.Warning).Fix, "--direct-url")
}

func TestDoctorLooksAtTheConnectionItself(t *testing.T) {
	t.Parallel()
	_, findings := diagnosis(t, storetest.New(t))
	said := ""
	for _, f := range findings {
		if f.Check == "encryption" {
			said += string(f.Severity) + " " + f.Text
		}
	}
	require.Regexp(t, "^ok the connection to .* stays on this machine$", said)
}

// deafTo returns a way to a database on which everything arrives but notifications.
func deafTo(t *testing.T, dsn string) string {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	network, target := pgconn.NetworkAddress(config.Host, config.Port)
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed by cleanup
	require.NoError(t, err)
	var links sync.WaitGroup
	links.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, target) //nolint:noctx // a server on this machine
			if err != nil {
				_ = client.Close()
				return
			}
			links.Go(func() {
				_, _ = io.Copy(server, client)
				_ = server.Close()
			})
			links.Go(func() {
				withhold(client, bufio.NewReader(server))
				_ = client.Close()
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		links.Wait()
	})
	return (&url.URL{
		Scheme: "postgres", User: url.User(config.User), Host: listener.Addr().String(), Path: "/" + config.Database, RawQuery: "sslmode=disable",
	}).String()
}

// withhold forwards the server's messages, one by one, without its notifications.
func withhold(client io.Writer, server *bufio.Reader) {
	for {
		header, err := server.Peek(5)
		if err != nil {
			return
		}
		to, size := client, 1+int64(binary.BigEndian.Uint32(header[1:]))
		if header[0] == 'A' {
			to = io.Discard
		}
		if _, err := io.CopyN(to, server, size); err != nil {
			return
		}
	}
}

func TestDoctorFindsAWayToAnotherDatabase(t *testing.T) {
	t.Parallel()
	dsn, other := storetest.New(t), storetest.New(t)
	_, findings := diagnosis(t, dsn, "--direct-url", other)
	require.Contains(t, one(t, findings, "pooler", doctor.Warning).Text, "--direct-url leads to another database, "+connect.Place(other))
}
