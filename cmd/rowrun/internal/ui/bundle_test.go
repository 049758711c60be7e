package ui_test

import (
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/ui"
)

// site is files with what every site has.
func site(files map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, text := range map[string]string{"index.html": "{{.Base}}{{.Assets}}", "first.js": "", "base.css": "b {}", "parts.css": "i {}", "plan.css": "u {}"} {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

func TestModulesAreOneScriptInTheOrderOfTheirImports(t *testing.T) {
	t.Parallel()
	h := ui.Files(site(map[string]string{
		"app.js":       "import { a, b as c } from './a.js'\nimport looks from './statuses.js'\nimport(`./pages/${module}.js`).then(a)\n",
		"a.js":         "import {x}from\"./libs/x.js\";\nexport const a = x\nexport function b() {}\nexport class d {}\nexport async function e() {}\n",
		"libs/x.js":    "var n=1;export{n as x,n as default};",
		"libs/y.js":    "export default function() {}",
		"pages/one.js": "import { a } from '../a.js'\nexport { a }\n",
	}))
	all := ask(t, h, http.MethodGet, "/assets/x/all.js")
	require.Equal(t, http.StatusOK, all.StatusCode, all.body)
	require.Regexp(t, `(?s)modules\["libs/x.js"\] = \(\(\) => \{\nvar n=1;\nreturn \{x: n, default: n\};\n\}\)\(\);.*modules\["a.js"\] = \(\(\) => \{\nconst \{x\} = modules\["libs/x.js"\];\nconst a = x\nfunction b.*return \{a, b, d, e\};.*// app.js`, all.body)
	require.Contains(t, all.body, `const { a, b: c } = modules["a.js"];`)
	require.Contains(t, all.body, `const {default: looks} = modules["statuses.js"];`)
	require.Contains(t, all.body, "Promise.resolve(modules[`pages/${module}.js`]).then(a)")
	require.Contains(t, all.body, "return {a};")
	require.Contains(t, all.body, "const asDefault = function() {}")
	require.NotRegexp(t, `(?m)^\s*(import|export)\b[^(]`, all.body)
	require.Contains(t, ask(t, h, http.MethodGet, "/assets/x/all.css").body, "b {}\ni {}\nu {}")
}

func TestModulesThatCannotBePutTogetherAreSaid(t *testing.T) {
	t.Parallel()
	for text, said := range map[string]string{
		"import * as a from './a.js'\n":      "an import or an export of a kind",
		"export let a = 1\n":                 "an import or an export of a kind",
		"import { a } from './none.js'\n":    "there is no none.js",
		"import { b } from './b.js'\n":       "modules import each other",
		"export * from './a.js'\n":           "an import or an export of a kind",
		"import './a.js'\n":                  "an import or an export of a kind",
		"const a = 1\nexport {a}\nexport a;": "an import or an export of a kind",
	} {
		h := ui.Files(site(map[string]string{"app.js": text, "a.js": "", "b.js": "import { c } from './app.js'\n"}))
		given := ask(t, h, http.MethodGet, "/")
		require.Equal(t, http.StatusInternalServerError, given.StatusCode, text)
		require.Contains(t, given.body, said, text)
	}
}

// A cold page reads little: its document, one script before the paint and one after, a sheet, the texts.
func TestAPageReadsFewFiles(t *testing.T) {
	t.Parallel()
	all := ask(t, ui.Handler(), http.MethodGet, "/assets/x/all.js", "Accept-Encoding", "gzip")
	require.Equal(t, "gzip", all.Header.Get("Content-Encoding"))
	require.Less(t, len(all.body), 80_000)
	t.Logf("%d bytes", len(all.body))
}
