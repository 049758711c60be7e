package egress_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/notifier/egress"
)

// guarded is a client that calls public addresses and those allowed.
func guarded(t *testing.T, origin string, allow ...string) *http.Client {
	t.Helper()
	u, err := url.Parse(origin)
	require.NoError(t, err)
	cfg := egress.Config{Origin: u, PublicOnly: true}
	for _, text := range allow {
		cfg.Allow = append(cfg.Allow, netip.MustParsePrefix(text))
	}
	client, err := egress.NewClient(cfg)
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// refused says whether a call ended with ErrPrivate.
func refused(t *testing.T, client *http.Client, target string) {
	t.Helper()
	resp, err := get(t, client, target)
	if err == nil {
		require.NoError(t, resp.Body.Close())
	}
	require.ErrorIs(t, err, egress.ErrPrivate, target)
	text := err.Error()
	require.Equal(t, egress.ErrPrivate.Error(), text[strings.LastIndex(text, ": ")+2:])
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	for kind, addresses := range map[string][]string{
		"this network":             {"0.0.0.0", "0.1.2.3"},
		"private, 10/8":            {"10.0.0.1", "10.255.255.255"},
		"private, 172.16/12":       {"172.16.0.1", "172.31.255.254"},
		"private, 192.168/16":      {"192.168.1.1"},
		"shared, carriers":         {"100.64.0.1", "100.127.255.254"},
		"loopback":                 {"127.0.0.1", "127.255.255.254"},
		"link-local, metadata":     {"169.254.169.254"},
		"protocol assignments":     {"192.0.0.170"},
		"documentation":            {"192.0.2.1", "198.51.100.1", "203.0.113.1"},
		"benchmarking":             {"198.18.0.1", "198.19.255.255"},
		"multicast":                {"224.0.0.1", "239.255.255.250"},
		"reserved and broadcast":   {"240.0.0.1", "255.255.255.255"},
		"v6 loopback, unspecified": {"[::1]", "[::]"},
		"v6 unique local":          {"[fc00::1]", "[fd00:ec2::254]"},
		"v6 link-local, multicast": {"[fe80::1]", "[ff02::1]"},
		"v4 in v6":                 {"[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[::ffff:10.0.0.1]", "[::7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::1]"},
		"v6 documentation, teredo": {"[2001:db8::1]", "[2001::1]", "[3fff::1]"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, address := range addresses {
				target := "http://" + address + ":8080/"
				if strings.HasPrefix(address, "[") && !strings.HasPrefix(address, "[::ffff") {
					// A machine without IPv6 makes no such connection: the guard is asked itself.
					require.ErrorIs(t, egress.PublicOnly(nil)("tcp6", address+":8080", nil), egress.ErrPrivate, address)
					continue
				}
				refused(t, guarded(t, target), target)
			}
		})
	}
}

// What resolves counts, not how it is written.
func TestNamesThatLeadInsideAreRefused(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(srv.Close)
	target, err := url.Parse(srv.URL)
	require.NoError(t, err)
	for _, host := range []string{"localhost", "127.0.0.1", "[::ffff:127.0.0.1]"} {
		inside := "http://" + host + ":" + target.Port() + "/"
		refused(t, guarded(t, inside), inside)
		refused(t, guarded(t, inside, "10.0.0.0/8", "fd00::/8", "127.0.0.2/32"), inside)
	}
	require.Zero(t, calls.Load())

	for _, host := range []string{"localhost", "127.0.0.1", "[::ffff:127.0.0.1]"} {
		inside := "http://" + host + ":" + target.Port() + "/"
		resp, err := get(t, guarded(t, inside, "127.0.0.0/8"), inside)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	require.EqualValues(t, 3, calls.Load())
}

// An allowed server can't lead on to one that isn't.
func TestARedirectInsideIsAnAnswer(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(inside.Close)
	srv := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
	t.Cleanup(srv.Close)
	resp, err := get(t, guarded(t, srv.URL, "127.0.0.1/32"), srv.URL)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusTemporaryRedirect, resp.StatusCode)
	require.Zero(t, calls.Load())
}

func TestPublicAddressesPassTheGuard(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"1.1.1.1:443", "8.8.8.8:53", "172.32.0.1:80", "100.128.0.1:8443", "[2606:4700:4700::1111]:443"} {
		network := "tcp4"
		if strings.HasPrefix(address, "[") {
			network = "tcp6"
		}
		require.NoError(t, egress.PublicOnly(nil)(network, address, nil), address)
	}
	require.ErrorIs(t, egress.PublicOnly(nil)("tcp4", "127.0.0.1:80", nil), egress.ErrPrivate)
	require.ErrorIs(t, egress.PublicOnly(nil)("unix", "/tmp/x", nil), egress.ErrPrivate)
}
