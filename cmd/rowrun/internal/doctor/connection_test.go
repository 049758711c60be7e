package doctor

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
)

// reached is a connection of which only the other end is known.
type reached struct {
	net.Conn
	at net.Addr
}

func (r reached) RemoteAddr() net.Addr { return r.at }

func TestDoctorWarnsOfAPlainConnectionToAnotherHost(t *testing.T) {
	t.Parallel()
	const url = "postgres://db.example/orders"
	far := reached{at: &net.TCPAddr{IP: net.ParseIP("10.0.0.5"), Port: 5432}}
	for _, c := range []struct {
		conn net.Conn
		want Severity
	}{
		{far, Warning},
		{reached{at: &net.TCPAddr{IP: net.ParseIP("fd00::5"), Port: 5432}}, Warning},
		{tls.Client(far, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: "db.example"}), Fine},
		{reached{at: &net.TCPAddr{IP: net.ParseIP("127.0.0.1"), Port: 5432}}, Fine},
		{reached{at: &net.TCPAddr{IP: net.ParseIP("::1"), Port: 5432}}, Fine},
		{reached{at: &net.UnixAddr{Name: "/tmp/.s.PGSQL.5432", Net: "unix"}}, Fine},
	} {
		var d doctor
		d.judgeEncryption(url, c.conn)
		require.Equal(t, c.want, d.findings[0].Severity, "%v", c.conn.RemoteAddr())
		require.Contains(t, d.findings[0].Text, "db.example:5432/orders")
	}
}

// What a URL says of TLS means what it means to libpq; nothing of ours weakens it.
func TestSSLModeIsLibpqs(t *testing.T) {
	t.Parallel()
	lookup := rowruntest.LookupIn(nil)
	for mode, want := range map[string][]bool{ // of the tries, in their order: with TLS?
		"":            {true, false}, // prefer
		"disable":     {false},
		"allow":       {false, true},
		"prefer":      {true, false},
		"require":     {true},
		"verify-ca":   {true},
		"verify-full": {true},
	} {
		url := "postgres://u@db.example/x"
		if mode != "" {
			url += "?sslmode=" + mode
		}
		resolved, err := database.ResolveURL("--database-url", url, lookup)
		require.NoError(t, err)
		config, err := pgx.ParseConfig(resolved)
		require.NoError(t, err)
		got := []bool{config.TLSConfig != nil}
		for _, fallback := range config.Fallbacks {
			got = append(got, fallback.TLSConfig != nil)
		}
		require.Equal(t, want, got, mode)
		switch mode {
		case "verify-full":
			require.False(t, config.TLSConfig.InsecureSkipVerify)
			require.Equal(t, "db.example", config.TLSConfig.ServerName)
		case "verify-ca":
			require.NotNil(t, config.TLSConfig.VerifyPeerCertificate)
		}
	}
	_, err := database.ResolveURL("--database-url", "postgres://u@db.example/x?sslmode=maybe", lookup)
	require.Error(t, err)
}
