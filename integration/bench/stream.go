package main

import (
	"context"
	"os"
	"slices"
	"time"
)

const logFromWAL = "inserts are seen in the write-ahead log"

// stream measures how long after its commit a transition stands in the stream, and what waking costs those who insert.
func (b *bench) stream(ctx context.Context) error {
	s, err := b.startServer(ctx, map[string]string{"track_commit_timestamp": "on", "max_slot_wal_keep_size": "4GB", "max_connections": "100", "max_replication_slots": "64"})
	if err != nil {
		return err
	}
	defer func() { _ = s.stop() }()
	for _, source := range []string{"wal", "listen"} {
		if err := b.streamLag(ctx, s, source); err != nil {
			return err
		}
	}
	for _, source := range []string{"off", "wal"} {
		if err := b.streamAtRate(ctx, s, source); err != nil {
			return err
		}
	}
	if err := b.streamDrain(ctx, s); err != nil {
		return err
	}
	return b.insertRates(ctx, s)
}

// readsLog waits until the replica reads the log: what was before its slot has no line.
func (r *replica) readsLog(ctx context.Context) error {
	err := poll(ctx, time.Minute, "a replica that is woken by the log", func() (bool, error) {
		text, err := os.ReadFile(r.log)
		return slices.Contains(messages(text), logFromWAL), err
	})
	if err != nil {
		return r.blame(err)
	}
	return nil
}
