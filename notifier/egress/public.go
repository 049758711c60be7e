package egress

import (
	"errors"
	"net/netip"
	"syscall"

	"code.dny.dev/ssrf"
)

// ErrPrivate is the error of a connection to an address that is not of the
// public internet and that nobody allowed. It doesn't name the address.
var ErrPrivate = errors.New("the address is not public, and no allowed network holds it")

// publicOnly is what a dialer asks before each connection. It sees the address
// after resolution; an IPv4 address in an IPv6 form has become IPv4 by then.
func publicOnly(allow []netip.Prefix) func(network, address string, c syscall.RawConn) error {
	var v4, v6 []netip.Prefix
	for _, prefix := range allow {
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	guardian := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	return func(network, address string, c syscall.RawConn) error {
		if guardian.Safe(network, address, c) != nil {
			return ErrPrivate
		}
		return nil
	}
}
