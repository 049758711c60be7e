// Command browser serves the dashboard's pages with an API that is made up, for whoever works on them:
//
//	cd cmd/rowrun/internal/ui/browser && go run . -assets ../assets
package main

import (
	"flag"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/ui"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/ui/uitest"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8485", "where to serve")
	assets := flag.String("assets", "", "the directory of the pages, read anew for each page; without: those of the build")
	token := flag.String("token", "", "a token to sign in with")
	rate := flag.Int("rate", 4, "transitions a second")
	replica := flag.String("api", "", "a replica's address, such as http://127.0.0.1:8484, to be asked instead of the API that is made up")
	hostile := flag.Bool("hostile", false, "names as somebody who means harm would choose them")
	flag.Parse()
	var api http.Handler = uitest.New(uitest.Options{Token: *token, Rate: *rate, Hostile: *hostile})
	if *replica != "" {
		to, err := url.Parse(*replica)
		if err != nil {
			log.Fatal(err)
		}
		api = &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	}
	mux := http.NewServeMux()
	mux.Handle("/api/", api)
	mux.Handle("/events", api)
	var pages atomic.Value
	pages.Store(ui.Handler())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if *assets != "" && !strings.HasPrefix(r.URL.Path, "/assets/") { // each page is read anew
			pages.Store(ui.Files(os.DirFS(*assets)))
		}
		pages.Load().(http.Handler).ServeHTTP(w, r) //nolint:forcetypeassert // stored above
	})
	log.Printf("http://%s", *addr)
	log.Fatal((&http.Server{Addr: *addr, Handler: mux, ReadHeaderTimeout: 5 * time.Second}).ListenAndServe())
}
