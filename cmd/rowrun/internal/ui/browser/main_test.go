package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/ui"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/ui/uitest"
)

// patience is what a page may take on a machine that has other things to do.
const patience = 60 * time.Second

var browser context.Context //nolint:gochecknoglobals // one for all tests: a start takes seconds

func TestMain(m *testing.M) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	var end context.CancelFunc
	browser, end = chromedp.NewContext(ctx)
	code := 1
	if err := chromedp.Do(browser); err != nil {
		fmt.Fprintln(os.Stderr, "no browser starts: .ci/ensure chromium installs one:", err)
	} else {
		code = m.Run()
	}
	end()
	stop()
	if err := real.end(); err != nil {
		fmt.Fprintln(os.Stderr, "the deployment:", err)
		code = 1
	}
	os.Exit(code)
}

// tab is a page of a deployment: of one that is made up, below a prefix that the handlers never see, or of a real one.
type tab struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // of the tab
	api  *uitest.Server  // nil: it is a real one
	base string

	mu       sync.Mutex
	problems []string
}

const prefix = "/ops/rowrun"

func open(t *testing.T, options uitest.Options) *tab {
	t.Helper()
	api := uitest.New(options)
	mux := http.NewServeMux()
	mux.Handle("/api/", api)
	mux.Handle("/events", api)
	mux.Handle("/", ui.Handler())
	server := httptest.NewServer(http.StripPrefix(prefix, mux))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	w := newTab(t, server.URL+prefix+"/")
	w.api = api
	return w
}

// newTab opens a tab for the pages below an address, in English.
func newTab(t *testing.T, base string, options ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, options...)
	w := &tab{t: t, ctx: ctx, base: base}
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx)) // the tab lives as long as the context of its first call
	w.do(chromedp.EmulateViewport(1440, 900))
	messages := chromedp.Console(ctx)
	go func() {
		for message, err := range messages {
			if err != nil {
				return
			}
			if strings.Contains(message.URL, "favicon.ico") {
				continue // of the plain text that set opens
			}
			if message.Type == chromedp.ConsoleError || message.Type == chromedp.ConsoleException {
				w.mu.Lock()
				w.problems = append(w.problems, message.Text+" "+message.URL)
				w.mu.Unlock()
			}
		}
	}()
	w.set("locale", "en")
	return w
}

func (w *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	require.NoError(w.t, chromedp.Do(ctx, actions...))
}

// set keeps a choice, as the page's selects do.
func (w *tab) set(name, value string) {
	w.t.Helper()
	w.do(chromedp.Navigate(w.base + "assets/x/libs/preact.LICENSE"))
	require.True(w.t, eval[bool](w, fmt.Sprintf("localStorage.setItem('rowrun.%s', %q), true", name, value)))
}

// visit opens a page and waits until it shows what it has.
func (w *tab) visit(path string) {
	w.t.Helper()
	w.do(chromedp.Navigate(w.base + path))
	w.until("document.querySelector('main h1') && !document.querySelector('main .loading')", path)
}

func eval[T any](w *tab, script string) T {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	require.NoError(w.t, err, script)
	return value
}

// until waits for a condition of the page.
func (w *tab) until(condition, what string) {
	w.t.Helper()
	var last error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(w.ctx, patience)
		found, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+condition+")"))
		cancel()
		if err == nil && found {
			return
		}
		last = err
	}
	text := eval[string](w, "document.body.innerText.replace(/\\s+/g, ' ').slice(-700)")
	require.FailNow(w.t, "never came: "+what, "%s\n%v\n%s\n%v", condition, last, text, w.said())
}

func (w *tab) key(keys string) {
	w.t.Helper()
	w.do(chromedp.KeyEvent(keys))
}

func (w *tab) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.problems...)
}

// quiet says that the console has no error but those that hold one of the words.
func (w *tab) quiet(but ...string) {
	w.t.Helper()
	for _, problem := range w.said() {
		known := false
		for _, word := range but {
			known = known || strings.Contains(problem, word)
		}
		require.True(w.t, known, problem)
	}
}
