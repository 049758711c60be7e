package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
	"github.com/rowrun/rowrun/store"
)

// session is who asks, and what may be done.
type session struct {
	Version    string  `json:"version"`
	Deployment string  `json:"deployment"`
	Replica    string  `json:"replica"`
	Shard      string  `json:"shard,omitempty"` // of a process with several
	UI         string  `json:"ui"`              // on or read-only
	SignedIn   bool    `json:"signed_in"`
	As         *string `json:"as"`
	Acts       bool    `json:"acts"`
	NeedsToken bool    `json:"needs_token"`
	CanSignIn  bool    `json:"can_sign_in"`
	HideData   bool    `json:"hide_data"`
	Role       string  `json:"role"`
	May        may     `json:"may"`
	TimeZone   string  `json:"time_zone"`
	Statuses   []look  `json:"statuses"`
}

// may is what this process's database role may do.
type may struct {
	Author   bool `json:"author"`
	Operator bool `json:"operator"`
}

// look is how a status is shown.
type look struct {
	Status string `json:"status"`
	Name   string `json:"name"`
	Icon   string `json:"icon"`
	Color  string `json:"color"`
}

// roleOf asks what this process's role may do; nothing, where the database doesn't answer.
func (a *API) roleOf(ctx context.Context) store.BoardRole {
	role, err := a.role.get(ctx, a.store.BoardRole)
	if err != nil {
		return store.BoardRole{}
	}
	return role
}

// mayAct says whether somebody may act here now.
func (s *server) mayAct(ctx context.Context, who auth.Who) bool {
	return who.Operator() && !s.config.ReadOnly && s.roleOf(ctx).Operator
}

func (s *server) session(ctx context.Context, who auth.Who) session {
	answer := session{
		UI: "on", SignedIn: who.SignedIn, NeedsToken: s.guard.NeedsToken() && !who.SignedIn,
		CanSignIn: s.guard.Operators() || s.guard.NeedsToken(), HideData: s.config.HideData, TimeZone: "UTC", Statuses: []look{},
	}
	if s.config.ReadOnly {
		answer.UI = "read-only"
	}
	for _, l := range statuses.All() {
		answer.Statuses = append(answer.Statuses, look{l.Status, l.Name, l.Icon, l.Color})
	}
	if answer.NeedsToken {
		return answer // a stranger learns nothing else
	}
	role := s.roleOf(ctx)
	answer.Version, answer.Deployment, answer.Replica, answer.Role = s.config.Version, s.config.Deployment, s.config.Replica, role.Name
	answer.Shard = s.config.Shard
	answer.May = may{Author: role.Author, Operator: role.Operator}
	answer.Acts = s.mayAct(ctx, who)
	if who.Operator() {
		answer.As = &who.Name
	}
	return answer
}

func (s *server) getSession(w http.ResponseWriter, r *http.Request) {
	if refusal := s.guard.Page(r); refusal != nil {
		refuse(w, refused(refusal))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	write(w, http.StatusOK, s.session(ctx, s.guard.Who(r)))
}

func (s *server) signIn(w http.ResponseWriter, r *http.Request) {
	if refusal := s.guard.Page(r); refusal != nil {
		refuse(w, refused(refusal))
		return
	}
	var body struct {
		Token string `json:"token"`
	}
	if err := readBody(w, r, &body); err != nil {
		refuse(w, inWords(err))
		return
	}
	who, ok := s.guard.SignIn(w, r, strings.TrimSpace(body.Token))
	if !ok {
		refuse(w, &problem{http.StatusUnauthorized, "unauthorized", "that is no token of this deployment", "It is the value of --http-operator-token or --http-token."})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	write(w, http.StatusOK, s.session(ctx, who))
}

func (s *server) signOut(w http.ResponseWriter, r *http.Request) {
	if refusal := s.guard.Page(r); refusal != nil {
		refuse(w, refused(refusal))
		return
	}
	s.guard.SignOut(w, r)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// maxBody bounds a request's body.
const maxBody = 256 << 10

// readBody reads a JSON object that has no other members than value has.
func readBody(w http.ResponseWriter, r *http.Request, value any) error {
	return readBodyUpTo(maxBody, w, r, value)
}

// readBodyUpTo is readBody of up to so many bytes.
func readBodyUpTo(most int64, w http.ResponseWriter, r *http.Request, value any) error {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		return &problem{http.StatusUnsupportedMediaType, "bad_request", "the body is not said to be JSON", "Content-Type: application/json."}
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err == nil && !isText(text) {
		return bad("the body is not UTF-8, or has half of a surrogate pair", "A JSON text is in UTF-8: an escape such as \\ud83d needs its other half.")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err == nil {
		err = decoder.Decode(value)
	}
	if err != nil {
		return bad("the body can't be read: "+printable(err.Error()), "GET /api/v1/openapi.json says what is accepted.")
	}
	if decoder.More() {
		return bad("there is more than one body", "Send one JSON object.")
	}
	return nil
}

// isText says whether each character of a JSON text is one. For what is none encoding/json reads U+FFFD, so that different
// keys, names or ids became one.
func isText(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++ // what is escaped is no backslash of its own
		if first := escaped(text[i:]); utf16.IsSurrogate(first) {
			i += 5
			if i >= len(text) || text[i] != '\\' || utf16.DecodeRune(first, escaped(text[i+1:])) == utf8.RuneError {
				return false
			}
			i += 5
		}
	}
	return utf8.Valid(text)
}

// escaped is the unit that an escape names, of what stands behind its backslash; -1: it is another escape, or none.
func escaped(text []byte) rune {
	if len(text) < 5 || text[0] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[1:5]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}
