// Package egress makes the HTTP clients of Rowrun; nothing else in the project
// constructs one.
//
// It promises of every client: it calls one origin (scheme, host and port) and
// refuses any other before a packet leaves; it follows no redirect, asks no proxy
// of the environment, keeps no cookies and unpacks no compressed answer; an
// answer's headers take at most 64 KiB, connecting at most 5 seconds, and idle
// connections are few and short-lived. An answer that leaves HTTP (101) is an
// error. How long an exchange may take, and how much of a body is read, is the
// caller's: by the request's context and by what it reads.
//
// Where Config.PublicOnly is set, only addresses of the public internet are
// connected to. What counts is the address of each connection after the name was
// resolved, so that no name leads inside, also not one that resolves to something
// else the second time.
package egress

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

const (
	dialTimeout    = 5 * time.Second
	keepAlive      = 15 * time.Second
	maxHeaderBytes = 64 << 10

	// Servers close idle connections after some seconds (several after 5, some
	// after 2). A request sent into that close gets no answer, so a connection
	// is left before the server may do it.
	idleTimeout = time.Second
)

// ErrOtherOrigin is the error of a request to anything but the client's origin.
var ErrOtherOrigin = errors.New("request leaves the client's origin")

// ErrSwitched is the error of a request that was answered with another protocol, which none asks for.
var ErrSwitched = errors.New("the answer is 101 Switching Protocols, which nobody asked for")

// Config says what a client may call.
type Config struct {
	// Origin is required: an http or https URL with a host. Only its scheme and
	// host (with port) count.
	Origin *url.URL
	// MaxIdleConns is how many connections are kept for the next request; 0: 16.
	MaxIdleConns int
	// PublicOnly refuses every address that isn't public, with ErrPrivate.
	PublicOnly bool
	// Allow are networks that may be called in spite of PublicOnly.
	Allow []netip.Prefix
}

// NewClient returns a client that calls cfg.Origin only. Where a test or a clean
// stop must leave nothing behind, end it with CloseIdleConnections.
func NewClient(cfg Config) (*http.Client, error) {
	if cfg.Origin == nil || cfg.Origin.Host == "" || cfg.Origin.Scheme != "http" && cfg.Origin.Scheme != "https" {
		return nil, errors.New("an HTTP client needs an origin: http://host or https://host")
	}
	if cfg.MaxIdleConns < 0 {
		return nil, fmt.Errorf("idle connections: %d is below 0", cfg.MaxIdleConns)
	}
	if cfg.MaxIdleConns == 0 {
		cfg.MaxIdleConns = 16
	}
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	if cfg.PublicOnly {
		dialer.Control = publicOnly(cfg.Allow)
	}
	return &http.Client{
		Transport: &guard{
			scheme: cfg.Origin.Scheme,
			host:   WithoutEmptyPort(cfg.Origin.Host),
			next: &http.Transport{
				Proxy:                  nil,
				DialContext:            dialer.DialContext,
				TLSHandshakeTimeout:    dialTimeout,
				MaxIdleConns:           cfg.MaxIdleConns,
				MaxIdleConnsPerHost:    cfg.MaxIdleConns,
				IdleConnTimeout:        idleTimeout,
				MaxResponseHeaderBytes: maxHeaderBytes,
				DisableCompression:     true,
				ForceAttemptHTTP2:      true,
				HTTP2:                  &http.HTTP2Config{SendPingTimeout: keepAlive, PingTimeout: keepAlive},
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// guard refuses what isn't the origin, whoever built the request.
type guard struct {
	scheme, host string
	next         *http.Transport
}

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	elsewhere := req.URL.Scheme != g.scheme || !g.is(req.URL.Host)
	if elsewhere || req.Host != "" && !g.is(req.Host) {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper closes the body, on errors too
		}
		return nil, ErrOtherOrigin
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	// The transport hands over the connection itself as the body of a 101: the request's context would end no read of it.
	if resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close()
		return nil, ErrSwitched
	}
	// http.Client parses Location even where it won't follow it, and loses the
	// answer to one that is malformed.
	resp.Header.Del("Location")
	return resp, nil
}

func (g *guard) is(host string) bool { return strings.EqualFold(WithoutEmptyPort(host), g.host) }

// WithoutEmptyPort is the host of a URL, without the colon of a port that isn't given: host: is host, as http.NewRequest has it.
func WithoutEmptyPort(host string) string { return strings.TrimSuffix(host, ":") }

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (g *guard) CloseIdleConnections() { g.next.CloseIdleConnections() }
