package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A page goes on when the replica that served it was killed and another one came in its place: it says that it waits, and then
// shows what has happened meanwhile.
func TestAPageOutlivesItsReplica(t *testing.T) {
	d := deployed(t)
	addr, err := freeAddr()
	require.NoError(t, err)
	begin := func() *exec.Cmd {
		return d.serve(t, "--replica-name", "shown", "--types", "NOOP", "--queues", "none", "--http-addr", addr, "--http-operator-token", "bob=env:OPERATOR")
	}
	first := begin()
	up := func() {
		t.Helper()
		require.Eventually(t, func() bool {
			c, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", addr)
			if err == nil {
				_ = c.Close()
			}
			return err == nil
		}, patience, pollEvery, "it listens")
	}
	up()
	w := newTab(t, "http://"+addr+"/")
	w.signIn("of-bob")
	task := ask[string](t, d, `SELECT min(id)::text FROM rowrun.task WHERE name = 'nightly report'`)
	w.visit("tasks/" + task)
	w.until("document.querySelector('.live.live')", "live")
	rows := "document.querySelectorAll('main tbody tr[data-row]').length"
	before := eval[int](w, rows)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()
	w.until("document.querySelector('.live.reconnecting')", "it says that it waits")
	run := ask[string](t, d, `SELECT rowrun.run_task('nightly report')::text`)
	d.holds(t, `SELECT status = 'DONE' FROM rowrun.task_run WHERE id = `+run)
	second := begin()
	up()
	w.until("document.querySelector('.live.live')", "live again")
	w.until("document.querySelector('main tbody').innerText.includes('#"+run+"')", "what happened meanwhile")
	require.Greater(t, eval[int](w, rows), before-1)
	require.Equal(t, "bob", eval[string](w, "document.querySelector('.who').textContent"), "signed in as before")
	w.perform("Pause", "", nil)
	w.perform("Resume", "", nil)
	require.Equal(t, "bob", ask[string](t, d, `SELECT asked_by FROM rowrun.act ORDER BY id DESC LIMIT 1`))
	require.NoError(t, second.Process.Kill())
	w.quiet("ERR_CONNECTION", "ERR_INCOMPLETE", "Failed to load resource", "net::")
}

// Over a slow way a page says that it loads, comes, and acts once however often its button is pressed.
func TestAPageOverASlowWay(t *testing.T) {
	d := deployed(t)
	to, err := url.Parse(d.base)
	require.NoError(t, err)
	way := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host})
	}}
	slow := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		delay := 200 * time.Millisecond
		if strings.Contains(r.URL.Path, "/api/") {
			delay = time.Second
		}
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		}
		way.ServeHTTP(rw, r)
	}))
	w := newTab(t, slow.URL+to.Path)
	t.Cleanup(func() {
		slow.CloseClientConnections()
		slow.Close()
	})
	w.signIn(d.token)
	require.True(t, eval[bool](w, "document.querySelector('nav a[href=plans]').click() ?? true"))
	w.until("document.querySelector('main .loading')", "it says that it loads")
	w.until("document.querySelector('.plans')", "the list")
	w.visit("tasks/" + ask[string](t, d, `SELECT min(id)::text FROM rowrun.task WHERE name = 'shaky'`))
	acts := ask[int](t, d, `SELECT count(*)::integer FROM rowrun.act`)
	w.until("[...document.querySelectorAll('main .acts button')].some((b) => b.textContent.startsWith('Pause'))", "a button")
	require.True(t, eval[bool](w, "[...document.querySelectorAll('main .acts button')].find((b) => b.textContent.startsWith('Pause')).click() ?? true"))
	w.until("document.querySelector('dialog button[type=submit]:not(:disabled)')", "a preview")
	require.True(t, eval[bool](w, "{ const b = document.querySelector('dialog button[type=submit]'); b.click(); b.click(); b.form.requestSubmit() } true"))
	w.until("document.querySelector('dialog .outcome')", "what it did")
	require.Equal(t, acts+1, ask[int](t, d, `SELECT count(*)::integer FROM rowrun.act`), "once")
	require.True(t, eval[bool](w, "[...document.querySelectorAll('dialog footer button')].at(0).click() ?? true"))
	w.until("!document.querySelector('dialog')", "the page")
	w.perform("Resume", "", nil)
	w.until("document.querySelector('.live.live')", "live")
	w.quiet()
}
