package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// sessionLife is how long a session lasts at most.
const sessionLife = 7 * 24 * time.Hour

// maxCookie bounds what is looked at.
const maxCookie = 1024

// claims is what a session's cookie says, in the clear; its signature is made with a key of the token that it began with.
type claims struct {
	Name  string `json:"n"` // of the operator; "": a reader
	Until int64  `json:"e"` // s since 1970
	Nonce string `json:"x"` // no two sessions are alike
}

// CookieName is that of sessions.
func (g *Guard) CookieName() string {
	if g.config.Deployment == "" {
		return "rowrun_session"
	}
	sum := sha256.Sum256([]byte(g.config.Deployment))
	return "rowrun_session_" + hex.EncodeToString(sum[:4])
}

// SignIn begins a session for whoever shows a token; ok: it is one.
func (g *Guard) SignIn(w http.ResponseWriter, r *http.Request, token string) (who Who, ok bool) {
	who, key := g.token(token)
	if !who.SignedIn {
		return Who{}, false
	}
	until := g.now().Add(sessionLife)
	text, err := json.Marshal(claims{Name: who.Name, Until: until.Unix(), Nonce: rand.Text()})
	if err != nil {
		return Who{}, false // texts and a number can be marshaled
	}
	said := base64.RawURLEncoding.EncodeToString(text)
	http.SetCookie(w, g.cookie(r, said+"."+g.sign(key, said), int(sessionLife.Seconds())))
	return who, true
}

// SignOut takes the cookie back.
func (g *Guard) SignOut(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, g.cookie(r, "", -1))
}

func (g *Guard) cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: g.CookieName(), Value: value, Path: g.config.Path, MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// A proxy in front says how it was asked. Whoever lies here only keeps the cookie from himself.
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	}
}

// session reads the cookie of a request. Of several of that name one must be valid.
func (g *Guard) session(r *http.Request) Who {
	for _, cookie := range r.CookiesNamed(g.CookieName()) {
		if who, ok := g.read(cookie.Value); ok {
			return who
		}
	}
	return Who{}
}

func (g *Guard) read(value string) (Who, bool) {
	said, signature, found := strings.Cut(value, ".")
	if !found || len(value) > maxCookie {
		return Who{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(said)
	if err != nil {
		return Who{}, false
	}
	var c claims
	if json.Unmarshal(text, &c) != nil {
		return Who{}, false
	}
	key := g.config.Read
	if c.Name != "" {
		key = ""
		for _, o := range g.config.Operators {
			if o.Name == c.Name {
				key = o.Token
			}
		}
	}
	if key == "" || !hmac.Equal([]byte(signature), []byte(g.sign(key, said))) || g.now().Unix() >= c.Until {
		return Who{}, false
	}
	return Who{SignedIn: true, Name: c.Name}, true
}

// sign is for this deployment and nothing else that the token may be used for.
func (g *Guard) sign(token, said string) string {
	key := hmac.New(sha256.New, []byte(token))
	key.Write([]byte("rowrun session 1 " + g.config.Deployment))
	mac := hmac.New(sha256.New, key.Sum(nil))
	mac.Write([]byte(said))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
