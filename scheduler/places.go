package scheduler

import (
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"strings"
)

// WithoutPlaces is an error's text without the addresses, host names and files that the errors of the system in it name. Whoever
// may read runs reads what they failed with, and not the configuration of the process that ran them.
func WithoutPlaces(err error) string {
	text := err.Error()
	if said, placed := place(err); placed != nil {
		return strings.ReplaceAll(text, placed.Error(), said)
	}
	return text
}

// place finds the error that names one, and says the same without it; nil: none does.
func place(err error) (said string, placed error) {
	unknown, isName := errors.AsType[*net.DNSError](err)
	network, isNetwork := errors.AsType[*net.OpError](err)
	certificate, isCertificate := errors.AsType[x509.HostnameError](err)
	file, isFile := errors.AsType[*fs.PathError](err)
	switch {
	case isName:
		said = "the host's name could not be resolved"
		if isNetwork {
			return said, network
		}
		return said, unknown
	case isNetwork:
		return WithoutPlaces(network.Err), network
	case isCertificate:
		return "the certificate is another host's", certificate
	case isFile:
		return file.Err.Error(), file
	}
	return "", nil
}
