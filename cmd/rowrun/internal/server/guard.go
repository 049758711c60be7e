package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// guard stands before what tells of runs and replicas.
type guard struct {
	token    string // "": none is configured
	loopback bool   // the server listens on loopback only
}

// protect lets a request pass to next that may see it.
func (g guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case g.token != "" && !g.knows(r):
			w.Header().Set("WWW-Authenticate", `Bearer realm="rowrun"`)
			http.Error(w, "the token of --http-token is needed: Authorization: Bearer …", http.StatusUnauthorized)
		case g.token == "" && !g.loopback:
			http.Error(w, "not served beyond loopback without a token: set --http-token, or --http-addr to a loopback address", http.StatusForbidden)
		case g.token == "" && !localName(r.Host):
			// A page in a browser on this machine can be made to ask, under a name of its own that leads here.
			http.Error(w, "without a token only requests for localhost are answered: set --http-token", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knows compares without telling by its time how much was right.
func (g guard) knows(r *http.Request) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	want, got := sha256.Sum256([]byte(g.token)), sha256.Sum256([]byte(strings.TrimSpace(given)))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// localName says that a Host header names loopback: localhost, or an address of it.
func localName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
