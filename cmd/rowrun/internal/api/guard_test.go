package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/api"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/server"
	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

// counts are what acts change.
const counts = `SELECT (SELECT count(*) FROM rowrun.task_run) || '/' || (SELECT count(*) FROM rowrun.act) || '/' || (SELECT count(*) FROM rowrun.stream_note) || '/' ||
	(SELECT string_agg(paused::text, ',') FROM rowrun.plan) || '/' || (SELECT max(status) FROM rowrun.task_run)`

// Whatever a reader sends, with its token or with its session, to whichever path and by whichever method: nothing is changed.
func TestAReadersTokenActsByNoRequest(t *testing.T) {
	t.Parallel()
	b := start(t, func(_ *api.Config, c *server.Config) { c.Token = "reads" })
	plan := fmt.Sprint(b.rollout())
	before := query[string](t, b.conn, counts)
	signedIn := b.ask(http.MethodPost, "/api/v1/session", `{"token": "reads"}`)
	require.Equal(t, http.StatusOK, signedIn.Status, signedIn.Body)
	require.Equal(t, false, at(t, signedIn.value(), "acts"))
	cookie, _, _ := strings.Cut(signedIn.Header.Get("Set-Cookie"), ";")

	bodies := []string{
		``, `{}`, body("run", `{"kind": "plan", "ids": ["`+plan+`"]}`, ""), body("retry", `{"kind": "run", "filter": {}}`, ""),
		body("pause", `{"kind": "plan", "ids": ["`+plan+`"]}`, ""), body("cancel", `{"kind": "task", "filter": {"plan": "`+plan+`"}}`, ""),
	}
	paths := []string{"acts?as=alice", "runs/1/cancel", "plans/" + plan + "/run", "session/../acts", "worker/claim"}
	var doc struct{ Paths map[string]map[string]any }
	require.NoError(t, json.Unmarshal([]byte(b.ask(http.MethodGet, "/api/v1/openapi.json", "", "Authorization", "Bearer reads").Body), &doc))
	require.Greater(t, len(doc.Paths), 20)
	posts := 0
	for path, methods := range doc.Paths {
		if _, ok := methods["post"]; ok {
			posts++
		}
		if path != "/session" { // signing in changes nothing but the cookie
			paths = append(paths, strings.ReplaceAll(strings.TrimPrefix(path, "/"), "{id}", plan))
		}
	}
	require.GreaterOrEqual(t, posts, 3, "the document names what may be posted to")
	for _, path := range paths {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodGet, "ACT"} {
			for _, text := range bodies {
				for _, as := range [][]string{
					{"Authorization", "Bearer reads"},
					{"Cookie", cookie},
					{"Authorization", "Bearer reads", "Cookie", cookie},
					{"Authorization", "Bearer reads", "X-HTTP-Method-Override", "POST", "X-Forwarded-User", "alice"},
					{},
				} {
					s := b.ask(method, "/api/v1/"+path, text, as...)
					if method != http.MethodGet && method != http.MethodHead {
						require.GreaterOrEqual(t, s.Status, 400, "%s %s %s", method, path, text)
					}
					if method == http.MethodPost && (path == "acts" || path == "acts/"+plan+"/stop") {
						require.Contains(t, []int{http.StatusForbidden, http.StatusUnauthorized}, s.Status, "before anything is read")
					}
				}
			}
		}
	}
	require.Equal(t, before, query[string](t, b.conn, counts))
	require.Equal(t, http.StatusUnauthorized, b.ask(http.MethodGet, "/api/v1/runs", "").Status, "with a token to read nobody reads without")
	require.Equal(t, http.StatusOK, b.ask(http.MethodGet, "/api/v1/runs", "", "Cookie", cookie).Status)
}

func TestNobodyActsWhereTheDashboardIsReadOnly(t *testing.T) {
	t.Parallel()
	b := start(t, func(c *api.Config, _ *server.Config) { c.ReadOnly = true })
	plan := fmt.Sprint(b.rollout())
	s := b.act(body("pause", `{"kind": "plan", "ids": ["`+plan+`"]}`, ""))
	require.Equal(t, http.StatusForbidden, s.Status)
	session := b.ask(http.MethodGet, "/api/v1/session", "", "Authorization", asAlice).value()
	require.Equal(t, "read-only", at(t, session, "ui"))
	require.Equal(t, false, at(t, session, "acts"))
	require.False(t, query[bool](t, b.conn, `SELECT paused FROM rowrun.plan`))
}

// A page of another site can have a browser send requests with its cookies, where SameSite doesn't keep them back.
func TestRequestsOfOtherOriginsAreRefused(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	plan := fmt.Sprint(b.rollout())
	signedIn := b.ask(http.MethodPost, "/api/v1/session", `{"token": "of-alice"}`)
	require.Equal(t, true, at(t, signedIn.value(), "acts"), signedIn.Body)
	cookie, _, _ := strings.Cut(signedIn.Header.Get("Set-Cookie"), ";")
	act := body("pause", `{"kind": "plan", "ids": ["`+plan+`"]}`, "")
	host := strings.TrimPrefix(b.base, "http://")
	for what, headers := range map[string][]string{
		"another site": {"Sec-Fetch-Site", "cross-site"}, "another port": {"Sec-Fetch-Site", "same-site"}, "an old browser": {"Origin", "http://evil.example"},
		"a page without origin": {"Origin", "null"}, "another scheme's": {"Origin", "http://localhost:1"},
		"a form": {"Content-Type", "text/plain"}, "another form": {"Content-Type", "application/x-www-form-urlencoded"},
	} {
		for _, path := range []string{"acts", "session"} {
			s := b.ask(http.MethodPost, "/api/v1/"+path, act, append([]string{"Cookie", cookie}, headers...)...)
			require.Contains(t, []int{http.StatusForbidden, http.StatusUnsupportedMediaType}, s.Status, what+" "+s.Body)
		}
	}
	require.False(t, query[bool](t, b.conn, `SELECT paused FROM rowrun.plan`))
	require.Equal(t, http.StatusForbidden, b.ask(http.MethodDelete, "/api/v1/session", "", "Sec-Fetch-Site", "cross-site").Status)
	s := b.ask(http.MethodPost, "/api/v1/acts", act, "Cookie", cookie, "Sec-Fetch-Site", "same-origin", "Origin", "http://"+host)
	require.Equal(t, http.StatusOK, s.Status, s.Body)
	require.True(t, query[bool](t, b.conn, `SELECT paused FROM rowrun.plan`))

	// Nothing says that other sites may read.
	s = b.ask(http.MethodGet, "/api/v1/runs", "", "Origin", "http://evil.example")
	require.Empty(t, s.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "same-origin", s.Header.Get("Cross-Origin-Resource-Policy"))
}

func TestANameThatLeadsToLoopbackIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t, func(c *api.Config, _ *server.Config) {
		c.Pages = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("page")) })
	})
	for _, path := range []string{"/", "/runs", "/api/v1/session", "/api/v1/runs", "/api/v1/openapi.json", "/api/v1/acts"} {
		require.Equal(t, http.StatusForbidden, b.ask(http.MethodGet, path, "", "Host", "evil.example").Status, path)
		require.Equal(t, http.StatusOK, b.ask(http.MethodGet, path, "", "Host", "localhost").Status, path)
	}
	s := b.ask(http.MethodPost, "/api/v1/acts", body("pause", `{"kind": "plan", "ids": ["1"]}`, ""), "Host", "evil.example", "Authorization", asAlice)
	require.Equal(t, http.StatusForbidden, s.Status)
	require.Equal(t, http.StatusForbidden, b.ask(http.MethodPost, "/api/v1/session", `{"token": "of-alice"}`, "Host", "evil.example").Status)
}

func TestNoAnswerIsShownInAFrame(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	for _, path := range []string{"/", "/api/v1/runs", "/api/v1/session", "/api/v1/none"} {
		h := b.ask(http.MethodGet, path, "").Header
		require.Equal(t, "DENY", h.Get("X-Frame-Options"), path)
		require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'self'", path)
		require.Contains(t, h.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
		require.NotContains(t, h.Get("Content-Security-Policy"), "unsafe", path)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
	}
	require.Equal(t, "no-store", b.ask(http.MethodGet, "/api/v1/runs", "").Header.Get("Cache-Control"))
}

func TestSessionsBeginAndEnd(t *testing.T) {
	t.Parallel()
	b := start(t, func(_ *api.Config, c *server.Config) { c.Prefix = "/rowrun" })
	stranger := b.get("session")
	require.Equal(t, false, at(t, stranger, "signed_in"))
	require.Equal(t, false, at(t, stranger, "acts"))
	require.Equal(t, true, at(t, stranger, "can_sign_in"))
	for _, wrong := range []string{`{"token": "of-bob"}`, `{"token": ""}`, `{}`} {
		s := b.ask(http.MethodPost, "/api/v1/session", wrong)
		require.Equal(t, http.StatusUnauthorized, s.Status, wrong)
		require.Empty(t, s.Header.Get("Set-Cookie"))
	}
	planted := "rowrun_session=planted"
	s := b.ask(http.MethodPost, "/api/v1/session", `{"token": "of-alice"}`, "Cookie", planted)
	require.Equal(t, "alice", at(t, s.value(), "as"))
	set := s.Header.Get("Set-Cookie")
	for _, flag := range []string{"HttpOnly", "SameSite=Strict", "Path=/rowrun/", "Max-Age="} {
		require.Contains(t, set, flag)
	}
	require.NotContains(t, set, "of-alice")
	require.NotContains(t, s.Body, "of-alice")
	cookie, _, _ := strings.Cut(set, ";")
	require.Equal(t, "alice", at(t, b.ask(http.MethodGet, "/api/v1/session", "", "Cookie", cookie).value(), "as"))
	require.Equal(t, http.StatusNoContent, b.ask(http.MethodDelete, "/api/v1/session", "", "Cookie", cookie).Status)

	// Whoever needs a token and shows none learns nothing but that.
	guarded := start(t, func(_ *api.Config, c *server.Config) { c.Token = "reads" })
	stranger = guarded.get("session")
	require.Equal(t, true, at(t, stranger, "needs_token"))
	require.Equal(t, "", at(t, stranger, "version"))
	require.Equal(t, "", at(t, stranger, "role"))
}

// What comes from outside is taken as text, or refused with words: no 500, nothing that the database chokes on.
func TestHostileRequestsAreRefusedInWords(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.rollout()
	nasty := []string{
		"'; DROP TABLE rowrun.task_run; --", "\x00", "a\x00b", "\xff\xfe", "<script>alert(1)</script>", "{}", "[]", "null", "%", "\\", "$1",
		"9223372036854775807", "9223372036854775808", "-1", "0", "1e9", "01", "+1", "１", "NaN", strings.Repeat("x", 5000), "\u202e\u2066", "a,b,,", "DONE,'", "infinity", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
	}
	every, n := storetest.Count(7, 1), 0 // a part of them, but for make soak
	for _, path := range []string{"runs", "tasks", "plans", "deliveries", "acts", "schedules", "webhooks", "overview", "plans/1/grid", "plans/1/edges", "plans/1/transitions", "runs/1/log"} {
		for _, word := range []string{"status", "type", "queue", "database", "plan", "task", "text", "error", "since", "until", "failed", "order", "cursor", "limit", "q", "range", "webhook", "version", "state", "project", "nothing"} {
			for _, value := range nasty {
				if n++; n%every != 0 {
					continue
				}
				s := b.ask(http.MethodGet, "/api/v1/"+path+"?"+word+"="+url.QueryEscape(value), "")
				require.Less(t, s.Status, 500, "%s?%s=%q %s", path, word, value, s.Body)
				if s.Status != http.StatusOK {
					require.NotEmpty(t, at(t, s.value(), "error", "message"))
				}
				require.NotContains(t, s.Body, "<script", "%s?%s", path, word)
			}
		}
	}
	for _, value := range nasty {
		for _, path := range []string{"runs/", "plans/", "tasks/", "webhooks/", "deliveries/", "acts/"} {
			s := b.ask(http.MethodGet, "/api/v1/"+path+url.PathEscape(value), "")
			require.Less(t, s.Status, 500, "%s%q %s", path, value, s.Body)
		}
		said, err := json.Marshal(value)
		require.NoError(t, err)
		quoted := string(said)
		for _, text := range []string{
			value, `{"request_id": ` + quoted + `}`, `{"act": ` + quoted + `, "on": {"kind": "run", "ids": ["1"]}}`,
			`{"preview": true, "act": "retry", "on": {"kind": "run", "filter": {"text": ` + quoted + `, "task": ` + quoted + `}}}`,
			`{"preview": true, "act": "retry", "on": {"kind": "run", "ids": [` + quoted + `]}}`,
			`{"preview": true, "act": "pause", "on": {"kind": "replica", "ids": [` + quoted + `]}}`,
			`{"request_id": "` + uuid.NewString() + `", "act": "pause", "on": {"kind": "replica", "ids": [` + quoted + `]}}`,
			`{"request_id": "` + uuid.NewString() + `", "act": "cancel", "on": {"kind": "run", "ids": ["1"]}, "args": {"reason": ` + quoted + `}}`,
			`{"request_id": "` + uuid.NewString() + `", "act": "limit", "on": {"kind": "plan", "ids": ["1"]}, "args": {"limit": ` + value + `}}`,
		} {
			if text == "" {
				continue
			}
			s := b.act(text)
			require.Less(t, s.Status, 500, "%.200q %s", text, s.Body)
		}
	}
	deep := strings.Repeat(`{"on":`, 20000)
	require.Equal(t, http.StatusBadRequest, b.act(deep).Status)
	require.Equal(t, http.StatusBadRequest, b.act(`{"act": "`+strings.Repeat("x", 400<<10)+`"}`).Status)
	require.Equal(t, http.StatusBadRequest, b.act(`{"unknown": 1}`).Status)
	require.Equal(t, http.StatusBadRequest, b.act(body("cancel", `{"kind": "run", "filter": {"nothing": "1"}}`, "")).Status)
	require.Equal(t, http.StatusBadRequest, b.act(body("cancel", `{"kind": "run", "ids": ["1"], "filter": {}}`, "")).Status)
}

// Who repeats a word means a list: one of its values alone would be the answer to another question.
func TestAWordThatIsGivenTwiceIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	b.failures(1)
	s := b.ask(http.MethodGet, "/api/v1/runs?status=FAILED&status=DONE", "")
	require.Equal(t, http.StatusBadRequest, s.Status, s.Body)
	require.Contains(t, at(t, s.value(), "error", "message"), `"status"`)
	require.Len(t, at(t, b.get("runs?status=FAILED,DONE"), "items"), 1)
}

// Rows hold what users wrote into them: it comes as JSON text, however odd.
func TestHostileRowsComeAsText(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	name := `<img src=x onerror=alert(1)>` + "\u202e\u2028\U0001f600" + `"\'</script>`
	change(t, b.conn, `INSERT INTO rowrun.task (type, name, payload) VALUES ('NOOP', $1, jsonb_build_object('a', 12345678901234567890, 'b', repeat('x', 10000)))`, name)
	change(t, b.conn, `INSERT INTO rowrun.task_run (id, task_id, run_at) VALUES (1, 1, '9998-01-01')`)
	change(t, b.conn, `SET session_replication_role = replica; UPDATE rowrun.task_run SET id = 9223372036854775807, root_id = 9223372036854775807, created_at = 'infinity'`)
	run := b.get("runs/9223372036854775807")
	require.Equal(t, "9223372036854775807", at(t, run, "id"))
	require.Equal(t, "9223372036854775807", at(t, run, "chain", 0, "root_id"))
	require.Equal(t, name, at(t, run, "task"))
	require.Equal(t, "12345678901234567890", at(t, run, "payload", "a"), "as it stands")
	require.Equal(t, "9999-12-31T23:59:59.999999Z", at(t, run, "created_at"))
	s := b.ask(http.MethodGet, "/api/v1/runs", "")
	require.NotContains(t, s.Body, "<", "nothing that a browser would take for markup, whatever it takes the answer for")
	require.Equal(t, name, at(t, s.value(), "items", 0, "task"))
}

// A database in SQL_ASCII holds any bytes: what is no UTF-8 is shown with marks in its place.
func TestTextThatIsNoUTF8ComesAsText(t *testing.T) {
	t.Parallel()
	beside, err := url.Parse(storetest.Empty(t))
	require.NoError(t, err)
	conn := rowruntest.Connect(t, beside.String())
	beside.Path += "_ascii"
	change(t, conn, `CREATE DATABASE "`+strings.TrimPrefix(beside.Path, "/")+`" TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'`)
	_, err = migrations.Up(t.Context(), migrations.Config{URL: beside.String()})
	require.NoError(t, err)
	b := serve(t, beside.String(), nil)
	change(t, b.conn, `INSERT INTO rowrun.task (type, name, payload) VALUES ('NOOP', E'a\xff\xfe<b>\xc3', E'{"a": "\xff\xc3("}')`)
	change(t, b.conn, `INSERT INTO rowrun.task_run (task_id) VALUES (1)`)
	change(t, b.conn, `UPDATE rowrun.task_run SET status = 'RUNNING', replica_id = 'x'`)
	change(t, b.conn, `UPDATE rowrun.task_run SET status = 'FAILED', result = E'{"detail": "no \xff\xfe<script>"}'`)
	for _, path := range []string{"runs", "runs?failed=1", "runs?text=no", "runs/1", "tasks", "tasks/1", "overview", "types"} {
		s := b.ask(http.MethodGet, "/api/v1/"+path, "")
		require.Equal(t, http.StatusOK, s.Status, "%s %s", path, s.Body)
		require.True(t, utf8.ValidString(s.Body), "%s: %q", path, s.Body)
		require.NotContains(t, s.Body, "<", path)
	}
	require.Equal(t, "a\ufffd\ufffd<b>\ufffd", at(t, b.get("tasks/1"), "name"))
	act := b.act(body("retry", `{"kind": "run", "filter": {"failed": "1"}}`, ""))
	require.Equal(t, "1", at(t, act.value(), "done"), act.Body)
}

// A path that is there says which methods it takes; nothing is told of one that is not.
func TestAMethodThatAPathDoesNotTakeIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	for path, takes := range map[string]string{"overview": "GET", "runs": "GET, POST", "acts/1/stop": "POST", "session": "GET, POST, DELETE"} {
		s := b.ask(http.MethodPatch, "/api/v1/"+path, `{}`, "Authorization", asAlice)
		require.Equal(t, http.StatusMethodNotAllowed, s.Status, path)
		require.Equal(t, takes, s.Header.Get("Allow"), path)
		require.Equal(t, "method_not_allowed", at(t, s.value(), "error", "code"))
		require.Contains(t, at(t, s.value(), "error", "hint"), takes)
	}
	require.Equal(t, http.StatusNotFound, b.ask(http.MethodPost, "/api/v1/nothing", `{}`, "Authorization", asAlice).Status)
}
