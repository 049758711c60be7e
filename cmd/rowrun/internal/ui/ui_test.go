package ui_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/ui"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// most is what all scripts together may weigh, compressed.
const most = 120_000

// given is what was answered.
type given struct {
	StatusCode int
	Header     http.Header
	body       string
}

func ask(t *testing.T, h http.Handler, method, address string, header ...string) given {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, address, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return given{w.Code, w.Header(), w.Body.String()}
}

func TestEachAddressGetsTheDocumentWithABaseOfItsDepth(t *testing.T) {
	t.Parallel()
	h := ui.Handler()
	for address, want := range map[string]string{
		"/": "./", "/plans": "./", "/plans/7": ".././", "/plans/7?status=FAILED": ".././", "/plans/": ".././", "/sign-in": "./",
	} {
		response := ask(t, h, http.MethodGet, address)
		require.Equal(t, http.StatusOK, response.StatusCode, address)
		require.Contains(t, response.body, `<base href="`+want+`">`, address)
	}
	for _, address := range []string{"/plans/7/8", "/nothing", "/.well-known/x"} {
		response := ask(t, h, http.MethodGet, address)
		require.Equal(t, http.StatusNotFound, response.StatusCode, address)
		require.Contains(t, response.body, "<base href=", "%s: the page says so", address)
	}
	require.Equal(t, http.StatusMethodNotAllowed, ask(t, h, http.MethodPost, "/").StatusCode)
	require.Empty(t, ask(t, h, http.MethodHead, "/").body)
}

func TestTheDocumentAllowsNothingButItsOwnFiles(t *testing.T) {
	t.Parallel()
	response := ask(t, ui.Handler(), http.MethodGet, "/")
	require.Equal(t, ui.Policy, response.Header.Get("Content-Security-Policy"))
	require.NotContains(t, ui.Policy, "unsafe")
	require.Equal(t, "DENY", response.Header.Get("X-Frame-Options"))
	require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
	document := response.body
	for _, tag := range regexp.MustCompile(`(?s)<script[^>]*>(.*?)</script>`).FindAllStringSubmatch(document, -1) {
		require.Empty(t, tag[1], "an inline script")
	}
	require.NotRegexp(t, `<style|\sstyle=|\son\w+=|https?://`, document)
}

func TestFilesAreServedForGoodUnderTheirVersionAndAnsweredWith304(t *testing.T) {
	t.Parallel()
	h := ui.Handler()
	document := ask(t, h, http.MethodGet, "/").body
	links := regexp.MustCompile(`(?:href|src)="(assets/[^"]+)"`).FindAllStringSubmatch(document, -1)
	require.Len(t, links, 4, "an icon, two scripts and a sheet")
	for _, link := range links {
		response := ask(t, h, http.MethodGet, "/"+link[1], "Accept-Encoding", "gzip, br")
		require.Equal(t, http.StatusOK, response.StatusCode, link[1])
		require.Contains(t, response.Header.Get("Cache-Control"), "immutable", link[1])
		etag := response.Header.Get("ETag")
		require.NotEmpty(t, etag)
		again := ask(t, h, http.MethodGet, "/"+link[1], "Accept-Encoding", "gzip, br", "If-None-Match", etag)
		require.Equal(t, http.StatusNotModified, again.StatusCode, link[1])
		plain := ask(t, h, http.MethodGet, "/"+link[1])
		require.Empty(t, plain.Header.Get("Content-Encoding"))
		require.NotEqual(t, etag, plain.Header.Get("ETag"), "%s: another representation", link[1])
	}
	require.Contains(t, ask(t, h, http.MethodGet, "/assets/older/app.js").Header.Get("Cache-Control"), "no-cache")
	require.Equal(t, http.StatusNotFound, ask(t, h, http.MethodGet, "/assets/x/../../ui.go").StatusCode)
	require.Equal(t, http.StatusNotFound, ask(t, h, http.MethodGet, "/assets/x/index.html").StatusCode)
	first := ask(t, h, http.MethodGet, "/")
	require.Equal(t, http.StatusNotModified, ask(t, h, http.MethodGet, "/", "If-None-Match", first.Header.Get("ETag")).StatusCode)
	require.Equal(t, http.StatusOK, ask(t, h, http.MethodGet, "/plans/7", "If-None-Match", first.Header.Get("ETag")).StatusCode, "its base differs")
}

func TestAllScriptsTogetherAreSmall(t *testing.T) {
	t.Parallel()
	total := 0
	each(t, ".js", func(_ string, content []byte) {
		var packed bytes.Buffer
		to, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		require.NoError(t, err)
		_, err = to.Write(content)
		require.NoError(t, err)
		require.NoError(t, to.Close())
		total += packed.Len()
	})
	t.Logf("%d bytes", total)
	require.Less(t, total, most)
}

func TestScriptsAreShortFilesWithoutEvalOrForeignAddresses(t *testing.T) {
	t.Parallel()
	each(t, ".js", func(name string, content []byte) {
		if strings.HasPrefix(name, "libs/") {
			return
		}
		text := string(content)
		require.LessOrEqual(t, strings.Count(text, "\n"), 400, name)
		require.NotRegexp(t, `\beval\(|new Function|innerHTML|dangerouslySetInnerHTML|document\.write`, text, name)
		for _, address := range regexp.MustCompile(`https?://[^'"\s]*`).FindAllString(text, -1) {
			require.Equal(t, "http://www.w3.org/2000/svg", address, name)
		}
	})
}

func TestVendoredFilesAreThoseOfTheList(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("assets/libs/libs.json")
	require.NoError(t, err)
	var list []struct{ File, Package, Version, Sha256, License string } //nolint:revive // the file's words
	var licences []struct {
		File string `json:"license_file"`
		Sum  string `json:"license_sha256"`
	}
	require.NoError(t, json.Unmarshal(content, &list))
	require.NoError(t, json.Unmarshal(content, &licences))
	listed := map[string]bool{"libs.json": true}
	for i, entry := range list {
		require.NotEmpty(t, entry.Package+entry.Version+entry.License, entry.File)
		require.Equal(t, entry.Sha256, sum(t, entry.File), entry.File)
		require.Equal(t, licences[i].Sum, sum(t, licences[i].File), entry.File)
		listed[entry.File], listed[licences[i].File] = true, true
	}
	files, err := os.ReadDir("assets/libs")
	require.NoError(t, err)
	for _, file := range files {
		require.True(t, listed[file.Name()], "libs.json doesn't list %s", file.Name())
	}
}

func TestStatusesLookAsOnTerminals(t *testing.T) {
	t.Parallel()
	h := ui.Handler()
	script := ask(t, h, http.MethodGet, "/assets/x/statuses.js").body
	sheet := ask(t, h, http.MethodGet, "/assets/x/statuses.css").body
	icons, err := os.ReadFile("assets/icons.js")
	require.NoError(t, err)
	var looks []statuses.Look
	require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(script, "export default ")), &looks))
	require.Len(t, looks, len(statuses.All()))
	for i, look := range statuses.All() {
		require.Equal(t, look.Status, looks[i].Status)
		require.Equal(t, look.Color, looks[i].Color)
		require.Contains(t, sheet, ".st-"+look.Status+" { --st: "+look.Color+"; }")
		require.Regexp(t, `(?m)^  `+look.Status+`: \{ (stroke|fill):`, string(icons), "an icon of its own")
	}
}

func sum(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(path.Join("assets/libs", name))
	require.NoError(t, err)
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

func each(t *testing.T, kind string, visit func(name string, content []byte)) {
	t.Helper()
	root := os.DirFS("assets")
	require.NoError(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != kind {
			return err
		}
		content, err := fs.ReadFile(root, name)
		if err == nil {
			visit(name, content)
		}
		return err
	}))
}
