package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/auth"
	"github.com/rowrun/rowrun/store"
)

// problem is an error as it is answered.
type problem struct {
	status              int
	code, message, hint string
}

func (p *problem) Error() string { return p.message }

func bad(message, hint string) *problem {
	return &problem{http.StatusBadRequest, "bad_request", message, hint}
}

func refused(r *auth.Refusal) *problem { return &problem{r.Status, r.Code, r.Message, r.Hint} }

// refuse writes a problem.
func refuse(w http.ResponseWriter, p *problem) {
	if p.status == http.StatusUnauthorized {
		// No WWW-Authenticate: Basic or the like: the page asks for the token, not the browser.
		w.Header().Set("WWW-Authenticate", `Bearer realm="rowrun"`)
	}
	type body struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Hint    string `json:"hint"`
	}
	write(w, p.status, map[string]body{"error": {p.code, p.message, p.hint}})
}

// write sends a value as JSON. What can't be one is our mistake.
func write(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer can't be written as JSON","hint":""}}`)
	}
	if !utf8.Valid(text) { // a database in SQL_ASCII holds any bytes
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	send(w, status, text)
}

func send(w http.ResponseWriter, status int, text []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// fail answers with what went wrong. What is not the caller's fault is logged.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := inWords(err)
	if p.status >= http.StatusInternalServerError && r.Context().Err() == nil {
		a.trouble(err).Str("path", r.URL.Path).Msg("a request of the dashboard failed")
	}
	if p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	refuse(w, p)
}

// trouble begins a log line; nil, which writes nothing, where the trouble before was the same.
func (a *API) trouble(err error) *zerolog.Event {
	text := err.Error()
	if last := a.last.Swap(&text); last != nil && *last == text {
		return nil
	}
	return a.config.Log.Warn().Str("error", store.Reason(err))
}

// inWords is how an error is told.
func inWords(err error) *problem {
	var own *problem
	var server *pgconn.PgError
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, store.ErrNotFound):
		return &problem{http.StatusNotFound, "not_found", err.Error(), "It may have been removed by retention."}
	case errors.Is(err, store.ErrNotOperator):
		return &problem{http.StatusForbidden, "forbidden", "the database role of this process may not act", "GRANT rowrun_operator TO that role."}
	case errors.Is(err, store.ErrOtherAct):
		return &problem{http.StatusConflict, "conflict", store.ErrOtherAct.Error(), "Draw a new one for each confirmation."}
	case errors.As(err, &server):
		return serverInWords(server)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &problem{http.StatusServiceUnavailable, "unavailable", "the database did not answer in time", "Ask again in a moment."}
	}
	return &problem{http.StatusServiceUnavailable, "unavailable", "the database can't be reached", "This replica's /readyz and log say why."}
}

func serverInWords(e *pgconn.PgError) *problem {
	switch {
	case strings.HasPrefix(e.Code, "RR"):
		return &problem{http.StatusConflict, e.Code, e.Message, e.Hint}
	case e.Code == "P0002":
		return &problem{http.StatusNotFound, "not_found", e.Message, e.Hint}
	case e.Code == "42501":
		return &problem{http.StatusForbidden, "forbidden", "the database role of this process may not do this: " + e.Message, e.Hint}
	case strings.HasPrefix(e.Code, "22"), strings.HasPrefix(e.Code, "23"):
		return &problem{http.StatusBadRequest, e.Code, e.Message, e.Hint}
	case e.Code == "57014", e.Code == "55P03", e.Code == "40P01", strings.HasPrefix(e.Code, "53"), strings.HasPrefix(e.Code, "57P"):
		return &problem{http.StatusServiceUnavailable, "unavailable", "the database could not answer now: " + e.Message, "Ask again in a moment."}
	}
	return &problem{http.StatusInternalServerError, "internal", "the database refused: SQLSTATE " + e.Code, "The replica's log says more."}
}
