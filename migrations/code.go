package migrations

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const manifestFile = "code/manifest"

// codeFiles is what the schema has besides tables: it has no steps, each version brings the whole of it.
//
// Objects are told by their keys, and one is applied where its source differs from the one that the database has
// recorded. Replicas of the release before still run while, and after, it is applied. Therefore:
//
//   - What they call keeps its signature, its result and its meaning for one release. A function that needs other
//     arguments gets another name, or stands beside the old one (that is, both files stay), for that long.
//   - A function or view that goes from the files is recorded as retired, and removed when the code of the next release is
//     applied. A function of which the files have the name with other arguments only is renamed as well, as calls could
//     mean both. A trigger that the files no longer have goes at once, as nobody calls it.
//   - release, in the manifest, tells releases apart. It is raised with the first change after a tag.
type codeFiles struct {
	release int
	objects []*source // in the order of the manifest
	text    string    // of all files, for edition
}

// manifest is what names the files of the code, in the order in which they are applied.
type manifest struct {
	release int
	files   []string
	line    []int // of each file
}

func (m *manifest) fail(line int, format string, args ...any) error {
	return &sourceError{manifestFile, line, fmt.Sprintf(format, args...)}
}

// readManifest is nil where there is none.
func readManifest(fsys fs.FS) (*manifest, error) {
	text, err := fs.ReadFile(fsys, manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // tables alone
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	m := &manifest{}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if number, ok := strings.CutPrefix(line, "release "); ok {
			if m.release, err = strconv.Atoi(number); err != nil || m.release < 1 {
				return nil, m.fail(n, "%q is no number of a release", number)
			}
			continue
		}
		if slices.Contains(m.files, line) {
			return nil, m.fail(n, "%s stands here twice", line)
		}
		m.files, m.line = append(m.files, line), append(m.line, n)
	}
	if m.release == 0 {
		return nil, m.fail(1, "it doesn't say which release this is")
	}
	return m, nil
}

// readCode reads what the manifest names; nil where there is no manifest.
func readCode(fsys fs.FS) (*codeFiles, error) {
	m, err := readManifest(fsys)
	if m == nil {
		return nil, err
	}
	c := &codeFiles{release: m.release}
	byKey := map[string]*source{}
	var text strings.Builder
	for i, line := range m.files {
		data, err := fs.ReadFile(fsys, path.Join("code", line))
		if err != nil {
			return nil, m.fail(m.line[i], "there is no file code/%s", line)
		}
		objects, err := sources(line, string(data))
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if other := byKey[o.key()]; other != nil {
				return nil, &sourceError{"code/" + o.path, o.line, fmt.Sprintf("%s is also made in code/%s:%d", o.key(), other.path, other.line)}
			}
			byKey[o.key()] = o
		}
		c.objects = append(c.objects, objects...)
		text.Write(data)
	}
	c.text = text.String()
	return c, fs.WalkDir(fsys, "code", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && file != manifestFile && !slices.Contains(m.files, strings.TrimPrefix(file, "code/")) {
			return &sourceError{file, 1, "the manifest doesn't name this file"}
		}
		return err
	})
}

// hash tells one code from another: it is of the sources of all objects, wherever they stand.
func (c *codeFiles) hash() string {
	if c == nil {
		return ""
	}
	var lines []string
	for _, o := range c.objects {
		lines = append(lines, o.key()+" "+o.hash+"\n")
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:16])
}

func (c *codeFiles) releaseNumber() int {
	if c == nil {
		return 0
	}
	return c.release
}

// of are the objects of a kind.
func (c *codeFiles) of(kind string) []*source {
	var list []*source
	if c != nil {
		for _, o := range c.objects {
			if o.kind == kind {
				list = append(list, o)
			}
		}
	}
	return list
}

// script is the text that makes all of it where nothing of it is.
func (c *codeFiles) script() string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	for _, o := range c.objects {
		for _, text := range o.texts() {
			b.WriteString(text)
			b.WriteString(";\n")
		}
	}
	return b.String()
}
