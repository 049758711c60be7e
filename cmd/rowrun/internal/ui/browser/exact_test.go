package main

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/ui/uitest"
)

// written are numbers that JavaScript's would round or write otherwise.
const written = `{"order_id": 12345678901234567890, "rate": 0.12345678901234567890123, "price": 1.50}`

// copies has the page tell what it copies.
func (w *tab) copies(card string) string {
	w.t.Helper()
	w.do(chromedp.Evaluate[chromedp.Void](`Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {writeText: async (text) => { window.copied = text }}}); window.copied = ''`))
	require.True(w.t, eval[bool](w, fmt.Sprintf(`Boolean([...document.querySelectorAll('main .card')].find((card) => card.querySelector('h2')?.textContent.startsWith(%q))?.querySelector('h2 button')?.click() ?? true)`, card)))
	w.until("window.copied", card+" is copied")
	return eval[string](w, "window.copied")
}

// What is in the documents of a run and a task is shown and copied digit by digit.
func TestNumbersOfDocumentsStayAsTheyWereWritten(t *testing.T) {
	d := deployed(t)
	task := ask[string](t, d, `SELECT rowrun.define_task('long numbers', 'NOOP', '`+written+`')::text`)
	ask[string](t, d, `UPDATE rowrun.task SET labels = '`+written+`' WHERE id = `+task+` RETURNING id::text`)
	run := ask[string](t, d, `SELECT rowrun.run_task('long numbers', '`+written+`', run_at => now() + interval '1 day')::text`)
	ask[string](t, d, `INSERT INTO rowrun.task_run_log (task_run_id, type, detail) VALUES (`+run+`, 'info', '`+written+`') RETURNING id::text`)
	w := d.open(t)
	for path, cards := range map[string][]string{"runs/" + run: {"Payload", "Input"}, "tasks/" + task: {"Payload"}} {
		w.visit(path)
		for _, number := range []string{"12345678901234567890", "0.12345678901234567890123", "1.50"} {
			shown := eval[int](w, fmt.Sprintf(`[...document.querySelectorAll('main .json .d')].filter((leaf) => leaf.textContent === %q).length`, number))
			require.Equal(t, 2, shown, "%s: payload and input, or payload and labels: %s", path, number)
		}
		for _, card := range cards {
			copied := w.copies(card)
			for _, line := range []string{`"order_id": 12345678901234567890`, `"rate": 0.12345678901234567890123`, `"price": 1.50`} {
				require.Contains(t, copied, line, "%s of %s", card, path)
			}
		}
	}
	w.visit("runs/" + run)
	w.until(`document.querySelector('main .log')?.textContent.includes('"order_id":12345678901234567890')`, "the log says it")
	w.quiet()
}

// Only numbers are taken for such: what is read and written again is what it was.
func TestExactJSONIsReadAndWrittenBack(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("")
	for _, text := range []string{
		`12345678901234567890`, `[-0,1e400,-1.0E-7,0,1,-2.5,true,null]`, `{"a \" 12345678901234567890":"12345678901234567890 \\\" 1.50","\\":[1.50,"\\"],"__proto__":{"x":98765432109876543210}}`, `""`,
	} {
		require.Equal(t, text, eval[string](w, fmt.Sprintf(`import('%s').then((exact) => exact.write(exact.parse(%s)))`, w.script("exact.js"), strconv.Quote(text))))
	}
	require.True(t, eval[bool](w, fmt.Sprintf(`import('%s').then(({parse}) => parse('0.25') === 0.25 && parse('7') === 7 && parse('0.30') > 0.29 && parse('[9007199254740993]')[0] * 1 === 9007199254740992)`, w.script("exact.js"))))
}
