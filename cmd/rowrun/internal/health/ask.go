package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/rowrun/rowrun/notifier/egress"
)

// maxAnswer is far more than a replica says.
const maxAnswer = 64 << 10

// Paths of the two questions.
const (
	Live  = "/livez"  // does the process work? It never asks the database.
	Ready = "/readyz" // does it take work?
)

// Ask asks the replica that listens at addr, as --http-addr says it: every address of this machine is asked by loopback.
// nil: it answers well. The error names what isn't.
func Ask(ctx context.Context, addr, path string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is no host:port", addr)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if err == nil && ip.Is6() {
			host = "::1"
		}
	}
	origin := &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: path}
	client, err := egress.NewClient(egress.Config{Origin: origin})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, origin.String(), nil)
	if err != nil {
		return err
	}
	request.Close = true
	answer, err := client.Do(request)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%s: no answer in time", origin)
		}
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", origin, answer.Status, unmet(body))
	}
	return nil
}

// unmet names the checks that fail, or what was answered instead.
func unmet(body []byte) string {
	var said struct {
		Checks map[string]struct {
			OK    bool
			Error string
		}
	}
	if err := json.Unmarshal(body, &said); err != nil || len(said.Checks) == 0 {
		return strings.TrimSpace(string(body[:min(len(body), 200)]))
	}
	var failing []string
	for _, name := range slices.Sorted(maps.Keys(said.Checks)) {
		if !said.Checks[name].OK {
			failing = append(failing, name+": "+said.Checks[name].Error)
		}
	}
	return strings.Join(failing, "; ")
}
