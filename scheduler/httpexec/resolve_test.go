package httpexec

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
)

func TestBaseURLIsChecked(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "app:8080", "/path", "ftp://app", "http://", "http://:80", "http:app", "http://app?x=1", "http://app?",
		"http://app/#f", "http://app/#", "http://app/a/../b", "http://app/%2e%2e", "http://app//b", "http://[::1", "http://app:port",
		"http://user:hunter2@app", "http://user:hunter2@app:port",
	} {
		_, err := New(Config{BaseURL: s})
		require.Error(t, err, s)
		require.NotContains(t, err.Error(), "hunter2")
	}
	for _, s := range []string{"http://127.0.0.1:8080", "https://app", "http://app/", "http://[::1]:80/a/b/", "HTTP://App"} {
		e, err := New(Config{BaseURL: s})
		require.NoError(t, err, s)
		e.Close()
	}
}

func TestAnEmptyPortIsNone(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"http://app:/": "http://app/x", "http://app:/api": "http://app/api/x", "http://[::1]:": "http://[::1]/x"} {
		b, err := parseBase(given)
		require.NoError(t, err)
		u, err := b.resolve("/x")
		require.NoError(t, err)
		require.Equal(t, want, u.String())
	}
}

func TestPathStaysBelowTheBase(t *testing.T) {
	t.Parallel()
	b, err := parseBase("http://app:8080/api/")
	require.NoError(t, err)
	for ref, want := range map[string]string{
		"/":                     "http://app:8080/api/",
		"/jobs/1":               "http://app:8080/api/jobs/1",
		"/jobs/?a=1&b=%2e%2e/":  "http://app:8080/api/jobs/?a=1&b=%2e%2e/",
		"/?url=http://x/../y":   "http://app:8080/api/?url=http://x/../y",
		"/a%2Fb":                "http://app:8080/api/a%2Fb",
		"/a//b":                 "http://app:8080/api/a//b",
		"/user@host:80":         "http://app:8080/api/user@host:80",
		"/...":                  "http://app:8080/api/...",
		"/a..b/.well-known":     "http://app:8080/api/a..b/.well-known",
		"/100%25":               "http://app:8080/api/100%25",
		"/%C3%BC":               "http://app:8080/api/%C3%BC",
		"/a;v=1,2/b=c&d!$'()*+": "http://app:8080/api/a;v=1,2/b=c&d!$'()*+",
	} {
		u, err := b.resolve(ref)
		require.NoError(t, err, ref)
		require.Equal(t, want, u.String())
	}
}

func TestPathsThatCouldLeaveTheBaseAreBadInput(t *testing.T) {
	t.Parallel()
	b, err := parseBase("http://app:8080/api")
	require.NoError(t, err)
	for _, ref := range []string{
		"", "jobs", "http://evil/", "//evil", "//evil@app/", "/%2fevil", "/%2f%2fevil", "@evil/", ".evil/", ":80/", "?x",
		"/..", "/../x", "/a/../../x", "/.", "/./a", "/..%2fx", "/%2e%2e/x", "/%2E%2e%2Fx", "/.%2e/x", "/%252e%252e/x", "/%25252e./x",
		"/%25/%252e%252e/x", "/..;/x", "/..;a=b/x", "/..%3b/x", "/..%3fx", "/..%23x", "/a/..?x",
		`/..\x`, `/\evil`, "/%5cevil", "/..%5cx", "/%255c", "/a#f", "/a#",
		"/a b", "/a?b c", "/a\r\nHost: evil", "/a?x\nb", "/a\x00", "/a%00", "/a%0d%0aX:1", "/a%0D", "/a\x7f", "/ü",
		"/%c0%ae%c0%ae/x", "/%ff", "/%", "/%2", "/%zz", `/a"b`, "/a|b", "/a{b}", "/a^b", "/" + strings.Repeat("a", maxPath),
	} {
		_, err := b.resolve(ref)
		require.Error(t, err, "%q", ref)
		require.Equal(t, scheduler.CodeBadInput, failure(t, err).Code, "%q", ref)
	}
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"/", "/a/b?c=d", "/..%2f", "//x", "/%252e%252e/", "/..;/", "/@x", "/%5c..%5c", "/a%2fb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		b, err := parseBase("http://app:8080/api")
		require.NoError(t, err)
		u, err := b.resolve(ref)
		if err != nil {
			require.Equal(t, scheduler.CodeBadInput, failure(t, err).Code)
			return
		}
		again, err := url.Parse(u.String())
		require.NoError(t, err)
		require.Equal(t, "http", again.Scheme)
		require.Equal(t, "app:8080", again.Host)
		require.Nil(t, again.User)
		require.Empty(t, again.Fragment)
		require.False(t, strings.ContainsFunc(u.RequestURI(), func(r rune) bool { return r <= ' ' || r >= 0x7f }))
		decoded := again.Path
		for range 4 { // however often it is decoded on the way
			clean := path.Clean(strings.ReplaceAll(decoded, `\`, "/"))
			require.True(t, clean == "/api" || strings.HasPrefix(clean, "/api/"), "%q is %q", ref, clean)
			decoded = unescapeOnce(decoded)
		}
	})
}
