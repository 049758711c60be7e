package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/ui/uitest"
)

// all pages, with a run and a task of each kind of status that looks different.
func pages() map[string]string {
	return map[string]string{
		"overview": "", "plans": "plans", "plan": "plans/7", "plan-task": "plans/7?task=700310", "plan-map": "plans/8", "plan-list": "plans/7?view=list", "plan-plain": "plans/9",
		"runs": "runs", "run": "runs/90071992547700266", "run-failed": "runs/90071992547700239", "run-waiting": "runs/90071992547700490", "schedules": "schedules", "tasks": "tasks", "task": "tasks/700310",
		"types": "types", "webhooks": "webhooks", "webhook": "webhooks/1", "deliveries": "deliveries", "delivery": "deliveries/898", "replicas": "replicas", "limits": "limits", "limit": "limits?name=tenants&key=acme", "acts": "acts", "sign-in": "sign-in",
	}
}

type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// axe finds what keeps people out; regions and landmarks are asked for too.
func (w *tab) axe(what string) {
	w.t.Helper()
	if !eval[bool](w, "'axe' in window") {
		script, err := os.ReadFile("testdata/axe.min.js")
		require.NoError(w.t, err)
		w.do(chromedp.Evaluate[chromedp.Void](string(script)))
	}
	found := eval[string](w, `axe.run(document, {resultTypes: ['violations']}).then((r) => JSON.stringify({passed: r.passes.length, found: r.violations.map((v) => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 4)}))}))`)
	var said struct {
		Passed int         `json:"passed"`
		Found  []violation `json:"found"`
	}
	require.NoError(w.t, json.Unmarshal([]byte(found), &said))
	require.Greater(w.t, said.Passed, 10, "axe looked")
	for _, v := range said.Found {
		for _, node := range v.Nodes {
			w.t.Errorf("%s: %s (%s): %.300s\n%.400s", what, v.ID, v.Help, node.HTML, node.Summary)
		}
	}
}

func TestEachPageIsAccessibleInBothThemesAndTwoLocales(t *testing.T) {
	for _, look := range [][2]string{{"light", "en"}, {"dark", "vi"}} {
		t.Run(look[0]+" "+look[1], func(t *testing.T) {
			w := open(t, uitest.Options{})
			w.set("theme", look[0])
			w.set("locale", look[1])
			for name, path := range pages() {
				w.visit(path)
				w.axe(name)
			}
			w.quiet()
		})
	}
}

func TestNoPageOverflowsFrom360To2560InTheLongestLocales(t *testing.T) {
	w := open(t, uitest.Options{})
	for _, locale := range []string{"es", "vi"} {
		w.set("locale", locale)
		for _, width := range []int64{360, 2560} {
			w.do(chromedp.EmulateViewport(width, 900))
			for name, path := range pages() {
				w.visit(path)
				over := eval[int](w, "document.documentElement.scrollWidth - innerWidth")
				require.LessOrEqual(t, over, 0, "%s at %d in %s", name, width, locale)
			}
		}
	}
	w.quiet()
}

// TestPictures writes a picture of each page into the directory that is named: those of docs/img.
func TestPictures(t *testing.T) {
	dir := os.Getenv("ROWRUN_PICTURES")
	w := open(t, uitest.Options{Token: "secret"})
	w.visit("sign-in")
	w.do(chromedp.SendKeys(chromedp.CSS("input[type=password]"), "secret\r"))
	w.until("document.querySelector('.who')", "signed in")
	for name, path := range pages() {
		w.visit(path)
		if dir == "" {
			continue
		}
		<-wait()
		ctx := w.ctx
		picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600))
	}
	w.quiet()
}

func TestHostileTextsAreText(t *testing.T) {
	w := open(t, uitest.Options{Hostile: true})
	for _, path := range []string{"plans", "plans/66", "plans/66?view=list", "plans/66?task=6600001", "runs?plan=66", "runs/900719925476600001", "tasks/6600001", "tasks?plan=any"} {
		w.visit(path)
		require.NotEqual(t, "owned", eval[string](w, "document.title"), path)
		require.Zero(t, eval[int](w, "document.querySelectorAll('main img, main script, main iframe, main [onerror]').length"), path)
		require.LessOrEqual(t, eval[int](w, "document.documentElement.scrollWidth - innerWidth"), 0, path)
	}
	w.visit("plans")
	require.Contains(t, eval[string](w, "document.body.textContent"), "</title><script>", "as it was written")
	w.quiet()
}

func TestAMarkOfDirectionMovesNothingBeyondItsText(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("tasks/700310")
	last := eval[bool](w, `(() => {
		const text = document.querySelector('main .json .s')
		const inner = text.querySelector('bdi') ?? text
		inner.textContent = inner === text ? '"\u202egnp.exe"' : '\u202egnp.exe'
		const place = (node, from, to) => { const r = new Range(); r.setStart(node, from); r.setEnd(node, to); return r.getBoundingClientRect() }
		const end = text.lastChild
		return place(end, end.length - 1, end.length).left >= place(inner.firstChild, 1, 7).right - 1
	})()`)
	require.True(t, last, "the closing quote comes last")
}

func TestIdsAreNotRounded(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("runs/90071992547700267")
	require.Contains(t, eval[string](w, "document.querySelector('main .sub').textContent"), "#90071992547700267")
	w.visit("plans/7?task=700267")
	w.until("document.querySelector('.panel a[href=\"runs/90071992547700267\"]')", "the link of the run")
	parsed := eval[string](w, fmt.Sprintf(`import('%s').then((live) => JSON.stringify(live.parseLine(%s)))`, w.script("live.js"), strconv.Quote(`{"run_id":90071992547700267,"task":"\"run_id\":1","plan_id":null,"attempt":3}`)))
	require.JSONEq(t, `{"run_id":"90071992547700267","task":"\"run_id\":1","plan_id":null,"attempt":3}`, parsed)
}

// What a page shows of a plan may be its first tasks only: its figures and what its acts are about are all of them.
func TestAPlanWithMoreTasksThanAreShownIsCountedWhole(t *testing.T) {
	w := open(t, uitest.Options{Shown: 20})
	w.visit("plans/7")
	w.until("document.querySelector('main').innerText.includes('Only the first')", "that not all are shown")
	counts := "fetch('api/v1/plans/7').then((r) => r.json()).then(({counts: c, tasks}) => "
	ended := eval[string](w, counts+"(c.DONE + c.SKIPPED).toLocaleString('en') + ' / ' + tasks.toLocaleString('en'))")
	require.Contains(t, eval[string](w, "document.querySelector('.progress').innerText"), ended)
	unfinished := eval[string](w, counts+"String(c.PENDING + c.AVAILABLE + c.RUNNING))")
	require.Contains(t, eval[string](w, "document.querySelector('header.title').innerText"), "Cancel "+unfinished)
	w.quiet()
}

func TestTheWayOfARunTellsSinceWhenItIsWhereItIs(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("runs")
	id := eval[string](w, "fetch('api/v1/runs?status=RUNNING').then((r) => r.text()).then((s) => s.match(/\"id\":\\s*\"(\\d+)\"/)[1])")
	w.visit("runs/" + id)
	require.Regexp(t, `^\d\d:\d\d`, eval[string](w, "document.querySelector('.machine .now .at')?.textContent ?? ''"))
	w.quiet()
}

func TestAValueThatStandsAloneIsDrawn(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("")
	drawn := eval[[]bool](w, fmt.Sprintf("import('%s').then(({alone}) => [[null, 5, null], [4, 5, null], [null, null]].map((values) => alone({data: [[], values]}, 1)))", w.script("chart.js")))
	require.Equal(t, []bool{true, false, false}, drawn)
}

// script is where the page has a module from.
func (w *tab) script(name string) string {
	w.t.Helper()
	return eval[string](w, "new URL('"+name+"', document.querySelector('script[type=module]').src).href")
}

// A recovery from an outage stands on the overview as long as it is under way.
func TestTheOverviewTellsOfARecovery(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("")
	require.False(t, eval[bool](w, "Boolean(document.querySelector('.recovery'))"), "none is under way")
	w = open(t, uitest.Options{Recovery: true})
	w.visit("")
	said := eval[string](w, "document.querySelector('.recovery')?.innerText ?? ''")
	for _, part := range []string{"1,800", "of 4,312", "125.5", "in 2 min"} {
		require.Contains(t, said, part)
	}
	require.Equal(t, 4312-1800, eval[int](w, "document.querySelector('.recovery progress').value"), "what is done of it")
	w.axe("a recovery")
	w.do(chromedp.EmulateViewport(360, 900))
	w.set("locale", "vi")
	w.visit("")
	require.LessOrEqual(t, eval[int](w, "document.documentElement.scrollWidth - innerWidth"), 0, "it fits")
	w.quiet()
}
