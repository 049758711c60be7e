package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"
)

// lead is how long before the first of them jobs that are due later are inserted.
const lead = 3 * time.Second

// starts inserts single jobs with the client's Insert, a transaction each.
func (p *peer) starts(ctx context.Context, numbers []int) (r *result, err error) {
	if err := p.migrate(ctx); err != nil {
		return nil, err
	}
	rate, seconds := numbers[0], numbers[1]
	sent := make([]time.Time, rate*(1+seconds)) // the first second warms up
	began := make(chan begun, len(sent))        // no job waits for whoever reads
	client, err := p.client(began)
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("start client: %w", err)
	}
	defer func() { err = errors.Join(err, client.Stop(context.WithoutCancel(ctx))) }()
	cpu := cpuSeconds()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for i := range sent {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		sent[i] = time.Now()
		if _, err := client.Insert(ctx, noopArgs{Number: i}, nil); err != nil {
			return nil, fmt.Errorf("insert a job: %w", err)
		}
	}
	delays, err := since(ctx, sent, began)
	if err != nil {
		return nil, err
	}
	return &result{Jobs: len(sent), CPUSeconds: cpuSeconds() - cpu, DelaysMS: delays[rate:]}, nil
}

// due inserts all jobs at once.
func (p *peer) due(ctx context.Context, numbers []int) (r *result, err error) {
	if err := p.migrate(ctx); err != nil {
		return nil, err
	}
	rate, seconds := numbers[0], numbers[1]
	at := make([]time.Time, rate*seconds)
	began := make(chan begun, len(at)) // no job waits for whoever reads
	client, err := p.client(began)
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("start client: %w", err)
	}
	defer func() { err = errors.Join(err, client.Stop(context.WithoutCancel(ctx))) }()
	cpu := cpuSeconds()
	first := time.Now().Add(lead)
	for i := range at {
		at[i] = first.Add(time.Duration(i) * time.Second / time.Duration(rate))
	}
	err = insert(ctx, client, 0, len(at), func(number int) *river.InsertOpts { return &river.InsertOpts{ScheduledAt: at[number]} })
	if err != nil {
		return nil, err
	}
	if time.Now().After(first) {
		return nil, errors.New("the jobs were inserted too late for the first of them")
	}
	delays, err := since(ctx, at, began)
	if err != nil {
		return nil, err
	}
	return &result{Jobs: len(at), CPUSeconds: cpuSeconds() - cpu, DelaysMS: delays}, nil
}

// since waits until every job has begun, and returns how long after its time, in ms, by their numbers.
func since(ctx context.Context, from []time.Time, began <-chan begun) ([]float64, error) {
	delays := make([]float64, len(from))
	for n := range from {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d jobs began: %w", n, len(from), ctx.Err())
		case b := <-began:
			delays[b.number] = float64(b.at.Sub(from[b.number])) / float64(time.Millisecond)
		}
	}
	return delays, nil
}
