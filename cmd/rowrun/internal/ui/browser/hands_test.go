package main

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/ui/uitest"
)

func wait() <-chan time.Time { return time.After(400 * time.Millisecond) }

func TestARetryByKeyboardAlone(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("plans/7?status=FAILED&view=list")
	w.key("j") // the first row
	w.until("document.activeElement.closest('[data-row]')", "the first row has the focus")
	w.key(kb.Enter)
	w.until("document.querySelector('.panel .button.primary')", "the panel offers a retry")
	for range 60 {
		w.key(kb.Tab)
		if eval[bool](w, "document.activeElement.matches('.panel .button.primary')") {
			break
		}
	}
	w.key(kb.Enter)
	w.until("document.querySelector('dialog button[type=submit]:not(:disabled)')", "a preview")
	require.Zero(t, w.api.Acts(), "nothing was done yet")
	for range 10 {
		if eval[bool](w, "document.activeElement.matches('dialog button[type=submit]')") {
			break
		}
		w.key(kb.Tab)
	}
	w.key(kb.Enter)
	w.until("document.querySelector('dialog .outcome')", "what it did")
	require.Equal(t, 1, w.api.Acts())
	w.key(kb.Escape)
	w.until("!document.querySelector('dialog') && document.activeElement !== document.body", "the focus is where it was")
	w.quiet()
}

func TestTwoClicksActOnce(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("runs/90071992547700239")
	w.do(chromedp.Click(chromedp.CSS("main .acts .primary")))
	w.until("document.querySelector('dialog button[type=submit]:not(:disabled)')", "a preview")
	w.do(chromedp.Evaluate[chromedp.Void]("{ const b = document.querySelector('dialog button[type=submit]'); b.click(); b.click(); b.form.requestSubmit() }"))
	w.until("document.querySelector('dialog .outcome')", "what it did")
	require.Equal(t, 1, w.api.Acts())
	w.axe("the dialog")
}

// A plan is one thing to act on, however many of its tasks are counted.
func TestThePreviewOfAPlanNamesThePlanAlone(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("plans/7")
	w.do(chromedp.Click(chromedp.CSS("header.title .primary")))
	w.until("document.querySelector('dialog .sample li')", "a preview")
	require.Regexp(t, `^Retry \d+$`, eval[string](w, "document.querySelector('dialog button[type=submit]').innerText"))
	require.Equal(t, 1, eval[int](w, "document.querySelectorAll('dialog .sample li').length"))
}

func TestAllThatAFilterNames(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("runs?status=FAILED")
	w.do(chromedp.Click(chromedp.CSS("thead input[type=checkbox]")))
	w.until("document.querySelector('.selection .all button')", "all that match")
	w.do(chromedp.Click(chromedp.CSS(".selection .all button")))
	w.until("document.querySelector('dialog .says')?.textContent.includes('4,312')", "the count")
	w.do(chromedp.Click(chromedp.CSS("dialog button[type=submit]")))
	w.until("document.querySelector('dialog .outcome')?.textContent.includes('4,312')", "the result")
	w.quiet()
}

func TestWhoOnlyReadsIsOfferedNoAct(t *testing.T) {
	w := open(t, uitest.Options{ReadOnly: true})
	for name, path := range pages() {
		w.visit(path)
		require.Zero(t, eval[int](w, `[...document.querySelectorAll('main .acts .button, main .selection .button')].filter((b) => /^(Run|Retry|Cancel|Abandon|Pause|Resume|Limit|Skip|Test|Redeliver)\b/.test(b.textContent.trim())).length`), name)
		require.Zero(t, eval[int](w, "document.querySelectorAll('main td.tick').length - (location.search.includes('view=list') ? document.querySelectorAll('.vlist td.tick').length : 0)"), name)
	}
}

func TestSigningIn(t *testing.T) {
	w := open(t, uitest.Options{Token: "secret", NeedsToken: true})
	w.visit("plans/7?status=FAILED")
	require.Contains(t, eval[string](w, "document.body.innerText"), "This deployment asks for a token")
	w.axe("sign-in")
	w.do(chromedp.SendKeys(chromedp.CSS("input[type=password]"), "wrong\r"))
	w.until("document.querySelector('[role=alert]')", "a refusal")
	w.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('input[type=password]').select()"), chromedp.SendKeys(chromedp.CSS("input[type=password]"), "secret\r"))
	w.until("document.querySelector('.rollout')", "the page that was asked for")
	require.Contains(t, eval[string](w, "location.search"), "status=FAILED")
	require.Equal(t, "ana", eval[string](w, "document.querySelector('.who').textContent"))
	require.NotContains(t, eval[string](w, "JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie"), "secret")
	w.quiet("401")
}

func TestATokenOfTheAddressIsTakenOffIt(t *testing.T) {
	for _, needed := range []bool{true, false} { // without: it is there to act
		w := open(t, uitest.Options{Token: "secret", NeedsToken: needed})
		w.do(chromedp.Navigate(w.base + "#token=secret"))
		w.until("document.querySelector('.figures') && document.querySelector('.who')", "the overview, signed in")
		require.NotContains(t, eval[string](w, "location.href"), "secret")
	}
}

func TestFiltersStandInTheAddress(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("plans/7")
	w.key("/")
	require.True(t, eval[bool](w, "document.activeElement.matches('[data-search]')"))
	w.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.select()")) // a made-up key writes its character, whatever was prevented
	w.key("orders-fr-03")
	w.until("new URLSearchParams(location.search).get('q') === 'orders-fr-03'", "the filter in the address")
	w.until("document.querySelectorAll('.rname').length === 1", "one row")
	w.do(chromedp.Click(chromedp.CSS(".cell.s-FAILED")))
	w.until("document.querySelector('.panel')", "the panel")
	sent := eval[string](w, "location.href")
	w.visit("plans")
	w.do(chromedp.Navigate(sent))
	w.until("document.querySelector('.panel') && document.querySelectorAll('.rname').length === 1", "the same again")
	address, err := url.Parse(sent)
	require.NoError(t, err)
	require.Equal(t, prefix+"/plans/7", address.Path)
	w.do(chromedp.Evaluate[chromedp.Void]("history.back()"))
	w.until("document.querySelector('.plans')", "the way back")
	w.key("?")
	w.until("document.querySelector('dialog .keys')", "the keys")
	w.axe("the keys")
	w.quiet()
}

func TestWavesFoldAndTheScrubberReplays(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("plans/7")
	before := eval[int](w, "Number(document.querySelector('.grid').ariaColCount ?? document.querySelector('.grid').getAttribute('aria-colcount'))")
	w.do(chromedp.Click(chromedp.CSS(".wave")))
	w.until(fmt.Sprintf("Number(document.querySelector('.grid').getAttribute('aria-colcount')) < %d", before), "fewer columns")
	require.NotEmpty(t, eval[string](w, "document.querySelector('.cell.s-FAILED .clabel')?.textContent ?? ''"), "a wave shows its worst")
	w.do(chromedp.Click(chromedp.CSS(".scrub button")))
	w.until("document.querySelector('.scrub input')", "the scrubber")
	require.Equal(t, "0%", eval[string](w, "document.querySelector('.figure .value').textContent"), "the beginning")
	w.do(chromedp.Evaluate[chromedp.Void]("{ const r = document.querySelector('.scrub input'); r.value = r.max; r.dispatchEvent(new Event('input', {bubbles: true})) }"))
	w.until("document.querySelector('.cell.s-FAILED')", "the end")
	w.axe("the scrubber")
	w.quiet()
}

// An act names at most 1,000 ids: what a filter of the rollout has selected beyond that goes by the filter.
func TestASelectionBeyondWhatIdsTellGoesByItsFilter(t *testing.T) {
	w := open(t, uitest.Options{})
	press := func(where, name string) {
		t.Helper()
		button := fmt.Sprintf("[...document.querySelectorAll(%q)].find((b) => b.textContent.trim().startsWith(%q))", where, name)
		w.until(button, name)
		require.True(t, eval[bool](w, button+".click() ?? true"))
	}
	w.visit("plans/8?status=PENDING,NOT_STARTED,DONE,AVAILABLE")
	press(".toolbar button", "Select all")
	press(".selection button", "Skip")
	w.until("document.querySelector('dialog .says')?.textContent.includes('4,312')", "what the made-up API says of a filter")
	w.key(kb.Escape)
	w.until("!document.querySelector('dialog')", "the page")
	w.visit("plans/7?status=FAILED")
	press(".toolbar button", "Select all")
	press(".selection button", "Pause")
	w.until("document.querySelector('dialog .says')?.textContent && !document.querySelector('dialog .says').textContent.includes('4,312')", "few are named")
	w.quiet()
}
