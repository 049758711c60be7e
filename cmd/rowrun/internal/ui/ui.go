package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
)

//go:embed assets
var embedded embed.FS

// Policy is the Content-Security-Policy of the pages.
const Policy = "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

const forever = "public, max-age=31536000, immutable"

// Handler serves the pages and their files for GET and HEAD. What the address names below /api, /events and so on is for the
// caller's mux to answer. Nothing is read or compressed before the first request.
func Handler() http.Handler {
	root, err := fs.Sub(embedded, "assets")
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return Files(root)
}

// Files is Handler with files of another place: those of a work tree, by somebody who changes them. They are read once.
func Files(root fs.FS) http.Handler {
	return &handler{load: sync.OnceValues(func() (*site, error) { return load(root) })}
}

type handler struct {
	load func() (*site, error)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	site, err := h.load()
	if err != nil {
		http.Error(w, "the dashboard's files are damaged: "+err.Error(), http.StatusInternalServerError)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "GET and HEAD only", http.StatusMethodNotAllowed)
		return
	}
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	if rest, ok := strings.CutPrefix(r.URL.Path, "/assets/"); ok {
		site.asset(w, r, rest)
		return
	}
	site.page(w, r)
}

// file is what is served of one name.
type file struct {
	kind   string
	etag   string
	plain  []byte
	packed []byte // nil where compressing gains nothing
}

// site is all files, ready to be served.
type site struct {
	version string // the hash of all of them
	files   map[string]*file
	page0   *template.Template
	etag    string // of the documents, without the depth
}

// firstName is the script that runs before the first paint, by itself.
const firstName = "first.js"

// lazy says of a script that it is read when a page wants it.
func lazy(name string) bool { return strings.HasPrefix(name, "libs/uplot") }

func load(root fs.FS) (*site, error) {
	s := &site{files: map[string]*file{}}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return s.add(name, content)
	})
	if err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	for name, content := range generated() {
		if err := s.add(name, content); err != nil {
			return nil, err
		}
	}
	if err := s.join(); err != nil {
		return nil, err
	}
	index, ok := s.files["index.html"]
	if !ok {
		return nil, fmt.Errorf("read the pages: there is no index.html")
	}
	delete(s.files, "index.html")
	if s.page0, err = template.New("index.html").Parse(string(index.plain)); err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	s.seal(index)
	return s, nil
}

// join makes the files that are put together of others.
func (s *site) join() error {
	scripts, err := bundle(s.files)
	if err != nil {
		return err
	}
	if err := s.add(bundleName, scripts); err != nil {
		return err
	}
	all, err := sheet(s.files)
	if err != nil {
		return err
	}
	return s.add(sheetName, all)
}

func (s *site) add(name string, content []byte) error {
	kind := mime.TypeByExtension(path.Ext(name))
	switch path.Ext(name) { // what the system's tables say differs
	case ".js":
		kind = "text/javascript; charset=utf-8"
	case ".css":
		kind = "text/css; charset=utf-8"
	case ".json":
		kind = "application/json"
	case ".svg":
		kind = "image/svg+xml"
	case ".LICENSE":
		kind = "text/plain; charset=utf-8"
	}
	sum := sha256.Sum256(content)
	f := &file{kind: kind, etag: `"` + hex.EncodeToString(sum[:12]) + `"`, plain: content}
	var packed bytes.Buffer
	to, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("compress %s: %w", name, err)
	}
	if _, err := to.Write(content); err != nil {
		return fmt.Errorf("compress %s: %w", name, err)
	}
	if err := to.Close(); err != nil {
		return fmt.Errorf("compress %s: %w", name, err)
	}
	if packed.Len() < len(content) {
		f.packed = packed.Bytes()
	}
	s.files[name] = f
	return nil
}

// seal names the version of all files.
func (s *site) seal(index *file) {
	names := make([]string, 0, len(s.files))
	for name := range s.files {
		names = append(names, name)
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		_, _ = fmt.Fprintf(all, "%s %s\n", name, s.files[name].etag)
	}
	s.version = hex.EncodeToString(all.Sum(nil))[:12]
	_, _ = fmt.Fprint(all, index.etag)
	s.etag = hex.EncodeToString(all.Sum(nil))[:16]
}

// asset answers /assets/VERSION/NAME. Of another version it gives this one's file, to be asked again.
func (s *site) asset(w http.ResponseWriter, r *http.Request, rest string) {
	version, name, _ := strings.Cut(rest, "/")
	f, ok := s.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Type", f.kind)
	header.Set("Vary", "Accept-Encoding")
	header.Set("Cache-Control", "no-cache")
	if version == s.version {
		header.Set("Cache-Control", forever)
	}
	content, etag := f.plain, f.etag
	if f.packed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		content, etag = f.packed, strings.TrimSuffix(f.etag, `"`)+`-gzip"`
	}
	answer(w, r, etag, content, http.StatusOK)
}

// page answers every address of the dashboard with its document; 404 where no page is meant.
func (s *site) page(w http.ResponseWriter, r *http.Request) {
	depth := strings.Count(strings.Trim(path.Clean(r.URL.Path), "/"), "/")
	if strings.HasSuffix(r.URL.Path, "/") && r.URL.Path != "/" {
		depth++
	}
	var document bytes.Buffer
	err := s.page0.Execute(&document, map[string]any{
		"Base": strings.Repeat("../", depth) + "./", "Assets": "assets/" + s.version,
	})
	if err != nil {
		http.Error(w, "the dashboard's page is damaged: "+err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", Policy)
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	header.Set("Cache-Control", "no-cache")
	code := http.StatusOK
	if !known(r.URL.Path) {
		code = http.StatusNotFound
	}
	answer(w, r, fmt.Sprintf(`"%s-%d"`, s.etag, depth), document.Bytes(), code)
}

// answer writes content, or 304 where the browser has it.
func answer(w http.ResponseWriter, r *http.Request, etag string, content []byte, code int) {
	w.Header().Set("ETag", etag)
	if code == http.StatusOK && slices.Contains(strings.Split(r.Header.Get("If-None-Match"), ", "), etag) {
		w.Header().Del("Content-Type")
		w.Header().Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(content)
	}
}

// known says that a page has this address. app.js has the same list.
func known(address string) bool {
	parts := strings.Split(strings.Trim(address, "/"), "/")
	switch parts[0] {
	case "":
		return true
	case "plans", "runs", "tasks", "webhooks", "deliveries", "acts":
		return len(parts) <= 2
	case "types", "schedules", "replicas", "limits", "sign-in":
		return len(parts) == 1
	}
	return false
}

// generated are the files that are made of the table of statuses.
func generated() map[string][]byte {
	type look struct {
		Status string `json:"status"`
		Name   string `json:"name"`
		Icon   string `json:"icon"`
		Color  string `json:"color"`
	}
	var looks []look
	var css strings.Builder
	for _, l := range statuses.All() {
		looks = append(looks, look{l.Status, l.Name, l.Icon, l.Color})
		fmt.Fprintf(&css, ".st-%s { --st: %s; }\n", l.Status, l.Color)
	}
	list, err := json.Marshal(looks)
	if err != nil {
		panic(err) // texts only
	}
	return map[string][]byte{
		"statuses.js":  fmt.Appendf(nil, "export default %s\n", list),
		"statuses.css": []byte(css.String()),
	}
}
