package ui

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A page reads one script and one sheet: twenty small ones take a browser longer than what is in them. They are put together when
// the pages are first served, so that the files stay as they are written and nothing has to be built.
const (
	bundleName = "all.js"
	sheetName  = "all.css"
)

// sheets are the style sheets of every page, in their order.
var sheets = []string{"statuses.css", "base.css", "parts.css", "plan.css"} //nolint:gochecknoglobals // a list

// The ways of import and export that the scripts use: each begins its line, or its file.
var (
	importing = regexp.MustCompile(`(?m)^import\s*(\{[^}]*\}|\w+)\s*from\s*['"]([^'"]+)['"];?`)
	listing   = regexp.MustCompile(`(?m)(^|[;}])export\s*\{([^}]*)\};?`)
	declaring = regexp.MustCompile(`(?m)^export ((?:async )?function|class|const) (\w+)`)
	defaults  = regexp.MustCompile(`(?m)(^|[;}])export default `)
	unknown   = regexp.MustCompile(`(?m)(^|[;}])(import\s*[\w{*"']|export\s*[\w{*]).*`)
)

// paging is how app.js reads the module of a page.
const paging = "import(`./pages/${module}.js`)"

// bundle writes all modules behind each other, each in a scope of its own and behind those that it imports; the page's first one
// comes last. Addresses relative to import.meta.url are those of the directory that app.js is in.
func bundle(files map[string]*file) ([]byte, error) {
	b := &bundler{files: files, done: map[string]bool{}}
	b.out.WriteString("const modules = {};\n")
	names := make([]string, 0, len(files))
	for name := range files {
		if path.Ext(name) == ".js" && name != "app.js" && !lazy(name) && name != firstName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range append(names, "app.js") {
		if err := b.add(name, nil); err != nil {
			return nil, err
		}
	}
	return b.out.Bytes(), nil
}

type bundler struct {
	files map[string]*file
	done  map[string]bool
	out   bytes.Buffer
}

// add writes a module, behind those that it imports. path says who wants it.
func (b *bundler) add(name string, wanted []string) error {
	switch {
	case b.done[name]:
		return nil
	case slices.Contains(wanted, name):
		return fmt.Errorf("read the pages: modules import each other: %s, %s", strings.Join(wanted, ", "), name)
	case b.files[name] == nil:
		return fmt.Errorf("read the pages: there is no %s, which %s imports", name, strings.Join(wanted, ", "))
	}
	text := string(b.files[name].plain)
	var err error
	text = importing.ReplaceAllStringFunc(text, func(line string) string {
		found := importing.FindStringSubmatch(line)
		from := path.Join(path.Dir(name), found[2])
		if wrong := b.add(from, append(wanted, name)); wrong != nil && err == nil {
			err = wrong
		}
		what := found[1]
		if !strings.HasPrefix(what, "{") {
			what = "{default: " + what + "}"
		}
		return fmt.Sprintf("const %s = modules[%q];", strings.ReplaceAll(what, " as ", ": "), from)
	})
	if err != nil {
		return err
	}
	var exports []string
	text = listing.ReplaceAllStringFunc(text, func(list string) string {
		found := listing.FindStringSubmatch(list)
		for one := range strings.SplitSeq(found[2], ",") {
			own, as, renamed := strings.Cut(strings.TrimSpace(one), " as ")
			if renamed {
				own = as + ": " + own
			}
			if own != "" {
				exports = append(exports, own)
			}
		}
		return found[1]
	})
	for _, found := range declaring.FindAllStringSubmatch(text, -1) {
		exports = append(exports, found[2])
	}
	text = declaring.ReplaceAllString(text, "$1 $2")
	if defaults.MatchString(text) {
		text = defaults.ReplaceAllString(text, "${1}const asDefault = ")
		exports = append(exports, "default: asDefault")
	}
	text = strings.ReplaceAll(text, paging, "Promise.resolve(modules[`pages/${module}.js`])")
	if left := unknown.FindString(text); left != "" {
		return fmt.Errorf("read the pages: %s has an import or an export of a kind that isn't put together: %.80s", name, left)
	}
	if name == "app.js" { // it may wait
		fmt.Fprintf(&b.out, "{ // %s\n%s\n}\n", name, text)
	} else {
		fmt.Fprintf(&b.out, "modules[%q] = (() => {\n%s\nreturn {%s};\n})();\n", name, text, strings.Join(exports, ", "))
	}
	b.done[name] = true
	return nil
}

// sheet is all style sheets in one.
func sheet(files map[string]*file) ([]byte, error) {
	var all bytes.Buffer
	for _, name := range sheets {
		if files[name] == nil {
			return nil, fmt.Errorf("read the pages: there is no %s", name)
		}
		all.Write(files[name].plain)
		all.WriteByte('\n')
	}
	return all.Bytes(), nil
}
