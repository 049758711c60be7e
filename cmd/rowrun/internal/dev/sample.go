package dev

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/database"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
	"github.com/rowrun/rowrun/store"
	"github.com/rowrun/rowrun/store/embeddedpg"
)

const (
	sampleDatabase = "demo"
	sampleProject  = "default"
	samplePlan     = "sample"
	sampleHello    = "say hello"
	// Where the app's webhook finds its address and its secret, which are new at each start.
	sampleWebhookURL    = "ROWRUN_SAMPLE_WEBHOOK_URL"
	sampleWebhookSecret = "ROWRUN_SAMPLE_WEBHOOK_SECRET" //nolint:gosec // a name

	// The stream begins at the moment when its writer looks at the table for the
	// first time, right after it has its name written down.
	streamSettles = 300 * time.Millisecond
	// Nobody may write the stream here; the sample is run all the same after that.
	streamPatience = 10 * time.Second
	streamLook     = 50 * time.Millisecond
)

// sample is what --sample brings along: an app, a target database, a plan.
type sample struct{ app *echoApp }

// newSample starts the app; what it receives as webhooks is told to out.
func newSample(ctx context.Context, out io.Writer) (*sample, error) {
	app, err := newEchoApp(ctx, out)
	if err != nil {
		return nil, err
	}
	return &sample{app}, nil
}

func (s *sample) url() string { return s.app.url() }
func (s *sample) close()      { s.app.close() }

// lookup adds to the variables of the environment those that the sample's webhook names.
func (s *sample) lookup(environment func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		switch name {
		case sampleWebhookURL:
			return s.app.url() + "/webhook", true
		case sampleWebhookSecret:
			return s.app.secret, true
		}
		return environment(name)
	}
}

// addTarget makes the demo's database one of the configuration's targets. types
// is what --types said, before validate completed it.
func (s *sample) addTarget(c *replica.Config, cluster *embeddedpg.Cluster, types []string) error {
	if _, taken := c.File.Databases[sampleDatabase]; taken {
		return cli.Usagef("--config %s: --sample brings a database named %s of its own: give yours another name", c.ConfigPath, sampleDatabase)
	}
	if c.File.Databases == nil {
		c.File.Databases = map[string]replica.FileDatabase{}
	}
	c.File.Databases[sampleDatabase] = replica.FileDatabase{
		URL:              cluster.SocketURL(sampleDatabase),
		LockTimeout:      replica.FileDuration(5 * time.Second),
		StatementTimeout: replica.FileDuration(time.Minute),
	}
	c.File.WebhookSecrets = append(c.File.WebhookSecrets, "env:"+sampleWebhookURL, "env:"+sampleWebhookSecret)
	c.Types = types
	return c.ValidateTypes()
}

// plan shows each type that needs no configuration of the user's.
func (s *sample) plan() store.NewPlan {
	sql := func(text string) json.RawMessage {
		payload, _ := json.Marshal(map[string]string{"sql": text}) // strings always marshal
		return payload
	}
	return store.NewPlan{Project: sampleProject, Name: samplePlan, Tasks: []store.NewTask{
		{
			Name: "create customer", Type: "DATABASE_MIGRATE", DatabaseID: sampleDatabase, Version: "1.0",
			Payload: sql("CREATE TABLE customer (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL)"),
		},
		{
			Name: "add city", Type: "DATABASE_MIGRATE", DatabaseID: sampleDatabase, Version: "1.1",
			Payload: sql("ALTER TABLE customer ADD COLUMN city text;\nINSERT INTO customer (name, city) VALUES ('Ada', 'London'), ('Emmy', 'Erlangen')"),
		},
		{
			Name: "tell the app", Type: "HTTP", DependsOn: []string{"add city"},
			Payload: json.RawMessage(`{"path": "/echo", "body": {"schema": "1.1"}}`),
		},
		{
			Name: "fail, then work", Type: "HTTP", MaxAttempts: 2, RetryDelay: 2 * time.Second,
			Payload: json.RawMessage(`{"path": "/flaky"}`),
		},
		{
			Name: sampleHello, Type: "NOOP",
			Payload: json.RawMessage(`{"sleep": "200ms"}`),
		},
	}}
}

// run makes the plan and runs it, once in the life of a cluster, and one task of
// it at each later start. It waits for the stream, so that all of it is seen.
func (s *sample) run(ctx context.Context, url string, streamed bool, before string) error {
	opened, err := store.Open(ctx, store.Config{URL: url, MaxConns: 1})
	if err != nil {
		return err
	}
	defer opened.Close()
	if streamed {
		if err := awaitWriter(ctx, opened, before); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, database.AnswerPatience)
	defer cancel()
	err = opened.MakeWebhookOnce(ctx, store.NewWebhook{
		Project: sampleProject, Name: samplePlan, URL: "env:" + sampleWebhookURL, SecretRef: "env:" + sampleWebhookSecret,
	})
	if err != nil {
		return err
	}
	made, err := opened.StartPlanOnce(ctx, s.plan())
	if err != nil || made {
		return err
	}
	_, err = opened.RunTaskOfPlan(ctx, sampleProject, samplePlan, sampleHello)
	return err
}

// awaitWriter returns when another replica than before writes the stream, or
// after streamPatience.
func awaitWriter(ctx context.Context, s *store.Store, before string) error {
	patience := time.NewTimer(streamPatience)
	defer patience.Stop()
	for settled := (<-chan time.Time)(nil); ; {
		if settled == nil {
			look, cancel := context.WithTimeout(ctx, database.AnswerPatience)
			status, err := s.Status(look)
			cancel()
			if err != nil {
				return err
			}
			if status.StreamWriter != before {
				settled = time.After(streamSettles)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-patience.C:
			return nil
		case <-settled:
			return nil
		case <-time.After(streamLook):
		}
	}
}

// streamWriter is who last began to write the stream.
func streamWriter(ctx context.Context, url string) (string, error) {
	s, err := store.Open(ctx, store.Config{URL: url, MaxConns: 1})
	if err != nil {
		return "", err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, database.AnswerPatience)
	defer cancel()
	status, err := s.Status(ctx)
	return status.StreamWriter, err
}
