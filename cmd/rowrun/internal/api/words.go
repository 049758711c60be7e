package api

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rowrun/rowrun/store"
)

const (
	maxLimit     = 200
	defaultLimit = 50
	// maxWord bounds each word of a request, in bytes.
	maxWord = 2000
)

// words are the words of a query or a filter. What is wrong in them is remembered, the first thing.
type words struct {
	values map[string]string
	known  []string
	err    error
}

// query reads the words of a request.
func query(r *http.Request) *words {
	w := &words{values: map[string]string{}}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		w.err = bad("the query can't be read", "Escape what isn't a letter or a digit.")
	}
	for name, all := range values {
		if len(all) > 1 {
			w.fail(name, "given twice", "each word once, lists with commas")
		}
		w.set(name, all[0])
	}
	return w
}

// filterWords reads the words of an act's filter.
func filterWords(values map[string]string) *words {
	w := &words{values: map[string]string{}}
	for name, value := range values {
		w.set(name, value)
	}
	return w
}

func (w *words) set(name, value string) {
	switch {
	case len(value) > maxWord:
		w.fail(name, "more than 2,000 bytes", "fewer")
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		w.fail(name, "text that no database holds", "UTF-8 without NUL")
	default:
		w.values[name] = value
	}
}

func (w *words) fail(name, what, accepted string) {
	if w.err == nil {
		w.err = bad(fmt.Sprintf("%s: %s is not accepted", printable(name), what), "Accepted: "+accepted+".")
	}
}

// printable shortens what is said back.
func printable(text string) string {
	if len(text) > 50 {
		text = text[:50] + "..."
	}
	return strconv.QuoteToGraphic(strings.ToValidUTF8(text, "?"))
}

func (w *words) text(name string) string {
	w.known = append(w.known, name)
	return w.values[name]
}

func (w *words) flag(name string) bool {
	switch value := w.text(name); value {
	case "", "0", "false":
		return false
	case "1", "true":
		return true
	default:
		w.fail(name, printable(value), "1 or 0")
		return false
	}
}

// id is 0 where the word is missing.
func (w *words) id(name string) int64 {
	value := w.text(name)
	if value == "" {
		return 0
	}
	id, ok := parseID(value)
	if !ok {
		w.fail(name, printable(value), "an id")
	}
	return id
}

func parseID(value string) (int64, bool) {
	id, err := strconv.ParseInt(value, 10, 64)
	return id, err == nil && id > 0 && strconv.FormatInt(id, 10) == value
}

func (w *words) choice(name string, accepted ...string) string {
	value := w.text(name)
	if value != "" && !slices.Contains(accepted, value) {
		w.fail(name, printable(value), strings.Join(accepted, ", "))
	}
	return value
}

// choices are several with commas.
func (w *words) choices(name string, accepted []string) []string {
	value := w.text(name)
	if value == "" {
		return nil
	}
	var all []string
	for one := range strings.SplitSeq(value, ",") {
		one = strings.ToUpper(strings.TrimSpace(one))
		if !slices.Contains(accepted, one) {
			w.fail(name, printable(one), strings.Join(accepted, ", "))
			return nil
		}
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

func (w *words) moment(name string) *time.Time {
	value := w.text(name)
	if value == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, value)
	if err != nil || at.Year() < 1900 || at.Year() > 9998 {
		w.fail(name, printable(value), "a moment such as 2026-11-23T18:00:00Z")
		return nil
	}
	at = at.UTC()
	return &at
}

func (w *words) limit(most int) int {
	value := w.text("limit")
	if value == "" {
		if most > maxLimit {
			return most // of a columnar answer
		}
		return defaultLimit
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		w.fail("limit", printable(value), fmt.Sprintf("1 to %d", most))
		return 1
	}
	return n
}

// page reads cursor and limit of a list whose key is an id.
func (w *words) page() store.Page {
	p := store.Page{Limit: w.limit(maxLimit)}
	if after := w.cursor(1); after != nil {
		p.After = after[0]
	}
	return p
}

// cursor reads n numbers; nil: there is no cursor.
func (w *words) cursor(n int) []int64 {
	value := w.text("cursor")
	if value == "" {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(value)
	var all []int64
	for part := range strings.SplitSeq(string(text), ".") {
		number, wrong := strconv.ParseInt(part, 10, 64)
		if wrong != nil {
			err = wrong
		}
		all = append(all, number)
	}
	if err != nil || len(all) != n || all[n-1] < 0 {
		w.fail("cursor", printable(value), "what `next` said")
		return make([]int64, n)
	}
	return all
}

// cursor writes one.
func cursor(numbers ...int64) *string {
	parts := make([]string, len(numbers))
	for i, n := range numbers {
		parts[i] = strconv.FormatInt(n, 10)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, ".")))
	return &text
}

// done says what was wrong: a word that nobody asked for is.
func (w *words) done() error {
	if w.err != nil {
		return w.err
	}
	for name := range w.values {
		if !slices.Contains(w.known, name) {
			slices.Sort(w.known)
			return bad(printable(name)+" is not accepted", "Accepted: "+strings.Join(w.known, ", ")+".")
		}
	}
	return nil
}

// pathID is the id that a path names.
func pathID(r *http.Request) (int64, error) {
	id, ok := parseID(r.PathValue("id"))
	if !ok {
		return 0, &problem{http.StatusNotFound, "not_found", printable(r.PathValue("id")) + " is no id", "An id is a number."}
	}
	return id, nil
}

// list is a page as it is answered.
type list[T any] struct {
	Items      []T            `json:"items"`
	Next       *string        `json:"next"`
	SearchedTo *store.Instant `json:"searched_to,omitempty"`
}

// listed is what was found as a page.
func listed[T any](f store.Found[T]) list[T] {
	l := list[T]{Items: f.Items, SearchedTo: f.SearchedTo}
	if f.Next != 0 {
		l.Next = cursor(f.Next)
	}
	return l
}

// paged is a page of rows of which there may be more where it is full.
func paged[T any](items []T, limit int, id func(T) int64) list[T] {
	l := list[T]{Items: items}
	if l.Items == nil {
		l.Items = []T{}
	}
	if len(items) == limit {
		l.Next = cursor(id(items[limit-1]))
	}
	return l
}
