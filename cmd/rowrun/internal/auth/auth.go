package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
	"time"
)

// Operator is somebody who may act.
type Operator struct {
	Name  string // who acts is told by it
	Token string
}

// Config is what a Guard needs.
type Config struct {
	// Read is the token that reads; "": none is needed on loopback.
	Read string
	// Operators may also act; their names differ, and so do their tokens.
	Operators []Operator
	// Loopback: the server listens on loopback only.
	Loopback bool
	// Deployment tells cookies of deployments apart that are shown under one name. Default "".
	Deployment string
	// Path is where cookies are sent to. Default "/".
	Path string
}

// Guard judges requests. Safe for use by many goroutines.
type Guard struct {
	config Config
	now    func() time.Time
}

// New returns a guard.
func New(c Config) *Guard {
	if c.Path == "" {
		c.Path = "/"
	}
	return &Guard{config: c, now: time.Now}
}

// Who is whom a request is from.
type Who struct {
	// SignedIn: a token or a session was shown, and is valid.
	SignedIn bool
	// Name is that of an operator, "" for everybody else.
	Name string
}

// Operator says that it is somebody who may act.
func (w Who) Operator() bool { return w.Name != "" }

// Who reads the token or the session of a request. What is not valid counts as not shown. A header of another scheme is meant for
// somebody else, such as a proxy with Basic authentication.
func (g *Guard) Who(r *http.Request) Who {
	given, shown := bearer(r)
	if !shown {
		return g.session(r)
	}
	who, _ := g.token(given)
	return who
}

// Bearer says that a request shows a token, which isn't empty.
func Bearer(r *http.Request, token string) bool {
	given, _ := bearer(r)
	return same(given, token)
}

// bearer is the token that a request shows, which may be empty; shown: it shows one.
func bearer(r *http.Request) (given string, shown bool) {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(given), true
}

// same compares without telling by its time how much was right. An empty token is nobody's.
func same(given, token string) bool {
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && token != ""
}

// token says whose a token is.
func (g *Guard) token(given string) (who Who, key string) {
	for _, o := range g.config.Operators {
		if same(given, o.Token) {
			who, key = Who{SignedIn: true, Name: o.Name}, o.Token
		}
	}
	if !who.SignedIn && same(given, g.config.Read) {
		who, key = Who{SignedIn: true}, g.config.Read
	}
	return who, key
}

// Refusal is why a request isn't answered.
type Refusal struct {
	Status  int    // of HTTP
	Code    string // unauthorized or forbidden
	Message string
	Hint    string
}

// Page says whether pages may be shown: they tell nothing, but a browser that asks for another site shall not get them.
func (g *Guard) Page(r *http.Request) *Refusal {
	switch {
	case !g.config.Loopback && !g.hasTokens():
		return &Refusal{http.StatusForbidden, "forbidden", "not served beyond loopback without a token", "Set --http-token, or --http-addr to a loopback address."}
	case g.config.Read == "" && g.config.Loopback && !localName(r.Host):
		return &Refusal{http.StatusForbidden, "forbidden", "without a token only requests for localhost are answered", "Set --http-token."}
	}
	return nil
}

// Read says whether a request may see what is told of runs; nil: it may.
func (g *Guard) Read(r *http.Request) (Who, *Refusal) {
	if refusal := g.Page(r); refusal != nil {
		return Who{}, refusal
	}
	who := g.Who(r)
	if g.NeedsToken() && !who.SignedIn {
		return who, &Refusal{http.StatusUnauthorized, "unauthorized", "the token of --http-token is needed", "Authorization: Bearer …, or sign in."}
	}
	return who, nil
}

// Act says whether a request may change something; nil: it may, and who is its operator.
func (g *Guard) Act(r *http.Request) (Who, *Refusal) {
	who, refusal := g.Read(r)
	switch {
	case refusal != nil:
		return who, refusal
	case who.Operator():
		return who, nil
	case len(g.config.Operators) == 0:
		return who, &Refusal{http.StatusForbidden, "forbidden", "nobody may act here", "Give operators a token: --http-operator-token NAME=env:VARIABLE."}
	case who.SignedIn:
		return who, &Refusal{http.StatusForbidden, "forbidden", "this token reads only", "Sign in with the token of an operator (--http-operator-token)."}
	}
	return who, &Refusal{http.StatusUnauthorized, "unauthorized", "only operators act", "Sign in with the token of an operator (--http-operator-token)."}
}

// NeedsToken says that nothing is told to those who show none.
func (g *Guard) NeedsToken() bool { return g.config.Read != "" || !g.config.Loopback }

// Operators says that there is somebody who may act.
func (g *Guard) Operators() bool { return len(g.config.Operators) > 0 }

func (g *Guard) hasTokens() bool { return g.config.Read != "" || g.Operators() }

// Protect lets requests pass to next that may read.
func (g *Guard) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, refusal := g.Read(r); refusal != nil {
			if refusal.Status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Bearer realm="rowrun"`)
			}
			http.Error(w, refusal.Message+": "+refusal.Hint, refusal.Status)
			return
		}
		next.ServeHTTP(w, r)
	})
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
