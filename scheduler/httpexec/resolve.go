package httpexec

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/rowrun/rowrun/notifier/egress"
	"github.com/rowrun/rowrun/scheduler"
)

const maxPath = 8 << 10

// base is the part of the app's URL that every request keeps.
type base struct {
	scheme, host  string
	path, rawPath string // without a slash at the end; decoded, and as it is sent
}

func parseBase(s string) (base, error) {
	const want = "the app's URL: want http://host[:port][/path] or https://…"
	if s == "" {
		return base{}, errors.New(want)
	}
	u, err := url.Parse(s)
	switch {
	case err != nil: // url.Error quotes the URL, which may hold a password
		return base{}, errors.New(want)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "":
		return base{}, errors.New(want)
	case u.User != nil:
		return base{}, errors.New(want + ", without a user")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		return base{}, errors.New(want + ", without query and fragment")
	}
	b := base{scheme: u.Scheme, host: egress.WithoutEmptyPort(u.Host)}
	rawPath := strings.TrimRight(u.EscapedPath(), "/")
	if rawPath == "" {
		return b, nil
	}
	if err := checkPath(rawPath); err != nil {
		return base{}, fmt.Errorf("the path of the app's URL %w", err)
	}
	b.path, b.rawPath = strings.TrimRight(u.Path, "/"), rawPath
	return b, nil
}

// resolve puts ref, a path with perhaps a query, below the base. It refuses
// rather than cleans: what the app's server, or a proxy before it, would make of
// a doubtful path is not known here.
func (b base) resolve(ref string) (*url.URL, error) {
	if len(ref) > maxPath {
		return nil, scheduler.BadInput("path is longer than %d bytes", maxPath)
	}
	if !strings.HasPrefix(ref, "/") {
		return nil, scheduler.BadInput(`path must start with "/"`)
	}
	for i := range len(ref) {
		switch c := ref[i]; {
		case c <= ' ' || c >= 0x7f:
			return nil, scheduler.BadInput("path has a space, a control character or one beyond ASCII at byte %d: percent-encode it", i)
		case c == '\\' || c == '#':
			return nil, scheduler.BadInput("path has %q at byte %d: backslashes and fragments are refused", string(c), i)
		}
	}
	rawPath, query, _ := strings.Cut(ref, "?")
	if err := checkPath(rawPath); err != nil {
		return nil, scheduler.BadInput("path %v", err)
	}
	path, err := url.PathUnescape(rawPath)
	if err != nil {
		return nil, scheduler.BadInput("path has an invalid percent-encoding")
	}
	u := &url.URL{Scheme: b.scheme, Host: b.host, Path: b.path + path, RawPath: b.rawPath + rawPath, RawQuery: query}
	// EscapedPath falls back to an encoding of its own where RawPath isn't one.
	if u.EscapedPath() != b.rawPath+rawPath {
		return nil, scheduler.BadInput("path has a character that must be percent-encoded")
	}
	return u, nil
}

// checkPath refuses a path that a lenient server could read as leaving the base.
// It looks at every stage of decoding, since something on the way may decode
// more often than once.
func checkPath(raw string) error {
	for s := raw; ; {
		if !utf8.ValidString(s) {
			return errors.New("is not UTF-8 once decoded")
		}
		if strings.HasPrefix(s, "//") {
			return errors.New(`starts with "//"`)
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
			return errors.New("has an encoded control character or backslash")
		}
		for segment := range strings.SplitSeq(s, "/") {
			// Some servers take "..;x" for "..", and a decoded "?" or "#" may end the path.
			if end := strings.IndexAny(segment, ";?#"); end >= 0 {
				segment = segment[:end]
			}
			if segment == "." || segment == ".." {
				return errors.New(`has a "." or ".." segment`)
			}
		}
		next := unescapeOnce(s)
		if next == s {
			return nil
		}
		s = next
	}
}

// unescapeOnce decodes every valid percent-encoding and leaves the rest, as a
// lenient decoder does; url.PathUnescape gives up at the first invalid one.
func unescapeOnce(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := url.PathUnescape(s[i : i+3]); err == nil {
				b.WriteString(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
