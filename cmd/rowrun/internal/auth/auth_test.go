package auth_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
)

func config() auth.Config {
	return auth.Config{
		Read: "reads", Operators: []auth.Operator{{Name: "alice", Token: "of-alice"}, {Name: "bob", Token: "of-bob"}},
		Loopback: true, Deployment: "d1",
	}
}

func request(change func(r *http.Request)) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://localhost:8484/", nil)
	if change != nil {
		change(r)
	}
	return r
}

func with(token string) *http.Request {
	return request(func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
}

// signIn gives the cookie of a session.
func signIn(t *testing.T, g *auth.Guard, token string, change func(r *http.Request)) *http.Cookie {
	t.Helper()
	w := httptest.NewRecorder()
	_, ok := g.SignIn(w, request(change), token)
	require.True(t, ok)
	cookies := w.Result().Cookies()
	require.Len(t, cookies, 1)
	return cookies[0]
}

func holding(cookies ...*http.Cookie) *http.Request {
	return request(func(r *http.Request) {
		for _, c := range cookies {
			r.AddCookie(c)
		}
	})
}

func TestTokensSayWhoAsks(t *testing.T) {
	t.Parallel()
	g := auth.New(config())
	require.Equal(t, auth.Who{SignedIn: true}, g.Who(with("reads")))
	require.Equal(t, auth.Who{SignedIn: true, Name: "alice"}, g.Who(with("of-alice")))
	require.Equal(t, auth.Who{SignedIn: true, Name: "bob"}, g.Who(with("of-bob")))
	for _, wrong := range []string{"", "read", "readss", "of-alice,of-bob", "alice"} {
		require.Equal(t, auth.Who{}, g.Who(with(wrong)), wrong)
	}
	// An empty token is nobody's, whatever was configured.
	require.Equal(t, auth.Who{}, auth.New(auth.Config{Operators: []auth.Operator{{Name: "x"}}}).Who(with("")))
	require.False(t, auth.Bearer(with(""), ""))
}

// A proxy with Basic authentication has browsers send its own header along with the session; a token that is shown counts alone.
func TestAHeaderForSomebodyElseLeavesTheSession(t *testing.T) {
	t.Parallel()
	g := auth.New(config())
	cookie := signIn(t, g, "of-alice", nil)
	for header, name := range map[string]string{
		"Basic dXNlcjpwYXNz": "alice", "Negotiate abc": "alice", "": "alice", "Bearer of-bob": "bob", "Bearer wrong": "", "Bearer": "", "bearer ": "",
	} {
		r := holding(cookie)
		r.Header.Set("Authorization", header)
		require.Equal(t, name, g.Who(r).Name, header)
	}
}

func TestReadersDontAct(t *testing.T) {
	t.Parallel()
	g := auth.New(config())
	_, refusal := g.Act(with("of-alice"))
	require.Nil(t, refusal)
	for what, r := range map[string]*http.Request{
		"its bearer": with("reads"), "its session": holding(signIn(t, g, "reads", nil)),
	} {
		_, refusal := g.Read(r)
		require.Nil(t, refusal, what)
		_, refusal = g.Act(r)
		require.Equal(t, http.StatusForbidden, refusal.Status, what)
	}
	_, refusal = g.Act(request(nil))
	require.Equal(t, http.StatusUnauthorized, refusal.Status)
	c := config()
	c.Operators = nil
	_, refusal = auth.New(c).Act(with("reads"))
	require.Equal(t, http.StatusForbidden, refusal.Status)
}

func TestSessionsHoldAtEveryReplicaThatHasTheTokenAndNoOther(t *testing.T) {
	t.Parallel()
	cookie := signIn(t, auth.New(config()), "of-alice", nil)
	require.Equal(t, "alice", auth.New(config()).Who(holding(cookie)).Name, "another replica")
	for what, change := range map[string]func(*auth.Config){
		"the token was changed":    func(c *auth.Config) { c.Operators[0].Token = "new" },
		"she is no operator more":  func(c *auth.Config) { c.Operators = c.Operators[1:] },
		"of another deployment":    func(c *auth.Config) { c.Deployment = "d2" },
		"her name is another's":    func(c *auth.Config) { c.Operators[0].Token, c.Operators[1].Token = "of-bob", "of-alice" },
		"her token only reads now": func(c *auth.Config) { c.Read, c.Operators = "of-alice", nil },
	} {
		c := config()
		change(&c)
		g := auth.New(c)
		moved := *cookie
		moved.Name = g.CookieName()
		require.Equal(t, auth.Who{}, g.Who(holding(&moved)), what)
	}
}

func TestForgedSessionsAreNone(t *testing.T) {
	t.Parallel()
	g := auth.New(config())
	reader, alice := signIn(t, g, "reads", nil), signIn(t, g, "of-alice", nil)
	said := func(c *http.Cookie) string { text, _, _ := strings.Cut(c.Value, "."); return text }
	signed := func(c *http.Cookie) string { _, text, _ := strings.Cut(c.Value, "."); return text }
	for what, value := range map[string]string{
		"nothing": "", "no signature": said(alice), "an empty one": said(alice) + ".",
		"another's signature": said(alice) + "." + signed(reader), "cut": alice.Value[:len(alice.Value)-1], "longer": alice.Value + "A",
		"no base64": "%%%." + signed(alice), "no JSON": "AAAA." + signed(alice), "much": strings.Repeat("A", 5000) + "." + signed(alice),
	} {
		require.Equal(t, auth.Who{}, g.Who(holding(&http.Cookie{Name: alice.Name, Value: value})), what)
	}
	require.Equal(t, auth.Who{}, g.Who(request(func(r *http.Request) {
		r.AddCookie(alice)
		r.Header.Set("Authorization", "Bearer wrong")
	})), "a token that is shown counts, not the cookie beside it")
}

// What a browser brought before it signed in is worth nothing after: each session is new, and is told by its own signature.
func TestASessionIsNotFixedBeforehand(t *testing.T) {
	t.Parallel()
	g := auth.New(config())
	planted := &http.Cookie{Name: g.CookieName(), Value: "planted.by-somebody"}
	got := signIn(t, g, "of-alice", func(r *http.Request) { r.AddCookie(planted) })
	require.NotEqual(t, planted.Value, got.Value)
	require.Equal(t, auth.Who{}, g.Who(holding(planted)))
	require.NotEqual(t, got.Value, signIn(t, g, "of-alice", nil).Value, "no two sessions are alike")
	require.Equal(t, "alice", g.Who(holding(planted, got)).Name, "a planted one of the same name doesn't lock her out")
}

func TestCookiesAreKeptFromScriptsAndOtherSites(t *testing.T) {
	t.Parallel()
	c := config()
	c.Path = "/rowrun/"
	g := auth.New(c)
	plain := signIn(t, g, "of-alice", nil)
	require.True(t, plain.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, plain.SameSite)
	require.Equal(t, "/rowrun/", plain.Path)
	require.Empty(t, plain.Domain)
	require.Positive(t, plain.MaxAge)
	require.False(t, plain.Secure, "without TLS it would not come back")
	require.True(t, signIn(t, g, "of-alice", func(r *http.Request) { r.TLS = &tls.ConnectionState{} }).Secure)
	require.True(t, signIn(t, g, "of-alice", func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }).Secure)
	require.NotContains(t, plain.Value, "of-alice", "the token isn't in it")

	w := httptest.NewRecorder()
	g.SignOut(w, request(nil))
	gone := w.Result().Cookies()[0]
	require.Negative(t, gone.MaxAge)
	require.Equal(t, plain.Name, gone.Name)
	require.Equal(t, plain.Path, gone.Path)
}

func TestWithoutATokenOnlyLoopbackNamesAreAnswered(t *testing.T) {
	t.Parallel()
	c := config()
	c.Read = ""
	g := auth.New(c)
	for host, status := range map[string]int{
		"localhost:8484": 0, "127.0.0.1:8484": 0, "[::1]:8484": 0, "LOCALHOST": 0, "localhost.": 0,
		"evil.example": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example:8484": 403, "": 403, "10.0.0.1": 403, "0.0.0.0:8484": 403,
	} {
		for what, r := range map[string]*http.Request{"a stranger": request(nil), "an operator": with("of-alice")} {
			r.Host = host
			_, refusal := g.Read(r)
			if status == 0 {
				require.Nil(t, refusal, host+" "+what)
			} else {
				require.Equal(t, status, refusal.Status, host+" "+what)
			}
		}
	}
	// Beyond loopback everybody shows a token, an operator's does.
	c.Loopback = false
	g = auth.New(c)
	_, refusal := g.Read(request(func(r *http.Request) { r.Host = "app.example" }))
	require.Equal(t, http.StatusUnauthorized, refusal.Status)
	_, refusal = g.Read(with("of-bob"))
	require.Nil(t, refusal)
	c.Operators = nil
	_, refusal = auth.New(c).Read(request(nil))
	require.Equal(t, http.StatusForbidden, refusal.Status, "nobody could ever read")
}
