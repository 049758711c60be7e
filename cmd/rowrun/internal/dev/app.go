package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// maxEcho is how much of a body the demo's app says back.
const maxEcho = 16 << 10

// echoApp is the app that the sample's HTTP tasks call: on loopback, inside dev.
//
//	/echo     says back what it was asked
//	/flaky    answers 503 to a run's first attempt, and as /echo after that
//	/webhook  receives what is announced of plans, if it is signed
type echoApp struct {
	server *http.Server
	addr   net.Addr
	served chan struct{}
	secret string // signs what is sent to /webhook
}

// newEchoApp starts it. Messages to /webhook are told to out.
func newEchoApp(ctx context.Context, out io.Writer) (*echoApp, error) {
	receiver, err := newReceiver(out)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the sample's app: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", echo)
	mux.Handle("/webhook", receiver)
	mux.HandleFunc("/flaky", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Rowrun-Attempt") == "0" {
			http.Error(w, "not yet: the first attempt always fails here", http.StatusServiceUnavailable)
			return
		}
		echo(w, r)
	})
	app := &echoApp{
		server: &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second},
		addr:   listener.Addr(),
		served: make(chan struct{}),
		secret: receiver.secret,
	}
	go func() {
		defer close(app.served)
		_ = app.server.Serve(listener) // ends with close
	}()
	return app, nil
}

func (a *echoApp) url() string { return "http://" + a.addr.String() }

func (a *echoApp) close() {
	_ = a.server.Close()
	<-a.served
}

// echo answers with the request. The claim stays with who was given it.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEcho))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		http.Error(w, "the body has more than 16 KiB", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		return // the caller has gone
	}
	answer := map[string]any{"method": r.Method, "path": r.URL.Path}
	for name := range r.Header {
		if strings.HasPrefix(name, "Rowrun-") && name != "Rowrun-Claim" {
			answer[strings.ToLower(name)] = r.Header.Get(name)
		}
	}
	if json.Valid(body) {
		answer["body"] = json.RawMessage(body)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // fails where the caller has gone
}
