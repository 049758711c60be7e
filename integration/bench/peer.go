package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// peer is a rival with some settings on a database of its own, in a process of its own: integration/peers, or the
// script in its folder graphile.
type peer struct {
	database *database
	command  []string
	preset   string
}

// river is River with one of the settings that integration/peers knows.
func (b *bench) river(d *database, name, preset string) *contender {
	return b.riverPeer(d, preset).drains(name)
}

// graphileWorker is graphile-worker with one of the settings that its script knows.
func (b *bench) graphileWorker(d *database, name, preset string) *contender {
	return b.graphilePeer(d, preset).drains(name)
}

func (b *bench) riverPeer(d *database, preset string) peer {
	return peer{d, []string{b.peers}, preset}
}

func (b *bench) graphilePeer(d *database, preset string) peer {
	return peer{d, []string{"node", filepath.Join(b.graphile, "main.mjs")}, preset}
}

// drains has the peer begin with an empty table.
func (p peer) drains(name string) *contender { return p.contender(name, "fill", "drain") }

// contender has the peer insert and work in its own words; insert may be empty.
func (p peer) contender(name, insert, work string) *contender {
	c := &contender{
		name: name,
		work: func(ctx context.Context, jobs int) (outcome, error) { return p.measure(ctx, work, jobs) },
	}
	if insert != "" {
		c.fill = func(ctx context.Context, jobs int) error {
			_, err := p.run(ctx, insert, jobs)
			return err
		}
	}
	return c
}

// measure runs the peer and reads what it measured.
func (p peer) measure(ctx context.Context, action string, numbers ...int) (outcome, error) {
	var got outcome
	out, err := p.run(ctx, action, numbers...)
	if err != nil {
		return got, err
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return got, fmt.Errorf("%s %s: %w", p.preset, action, err)
	}
	return got, nil
}

func (p peer) run(ctx context.Context, action string, numbers ...int) ([]byte, error) {
	words := append(p.command[1:len(p.command):len(p.command)], p.preset, action)
	for _, n := range numbers {
		words = append(words, fmt.Sprint(n))
	}
	cmd := exec.CommandContext(ctx, p.command[0], words...)
	// As in graphile-worker's own performance tests; River has no such line.
	cmd.Env = append(environment(p.database.url), "NO_LOG_SUCCESS=1")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s %s: %w: %s", p.preset, action, err, exit.Stderr)
	}
	return out, err
}
