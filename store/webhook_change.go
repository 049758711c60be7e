package store

import (
	"context"
	"encoding/json"
	"fmt"
)

// WebhookChange is what a webhook is to be; what is nil has the column's default, or stays as it is.
type WebhookChange struct {
	Project *string
	Name    *string
	// URL is http or https, or env:NAME and file:PATH, which the sidecars read. Required of a new one.
	URL *string
	// SecretRef names the signing secrets; "": unsigned.
	SecretRef *string
	Events    []string
	// Filter is a JSON object; {}: none.
	Filter  json.RawMessage
	Format  *string
	Enabled *bool
}

// CreateWebhook makes a webhook; its id.
func (s *Store) CreateWebhook(ctx context.Context, w WebhookChange) (id int64, err error) {
	err = s.pool.QueryRow(ctx, statement("create_webhook"), w.Project, w.Name, w.URL, w.SecretRef, w.Events, w.Format, w.Enabled, w.Filter).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("create webhook: %w", err)
	}
	return id, nil
}

// ChangeWebhook changes a webhook. ErrNotFound.
func (s *Store) ChangeWebhook(ctx context.Context, id int64, w WebhookChange) error {
	return s.changeOne(ctx, statement("change_webhook"), id, w.Project, w.Name, w.URL, w.SecretRef, w.Events, w.Format, w.Enabled, w.Filter)
}

// DeleteWebhook removes a webhook with what is addressed to it. ErrNotFound.
func (s *Store) DeleteWebhook(ctx context.Context, id int64) error {
	_, err := s.pool.Exec(ctx, statement("delete_webhook"), id)
	if SQLState(err) == "P0002" {
		return fmt.Errorf("delete webhook %d: %w", id, ErrNotFound)
	} else if err != nil {
		return fmt.Errorf("delete webhook: %w", err)
	}
	return nil
}

// SampleMessage is a message of type TEST in the format of a webhook, and what its body is. publicURL is that of the
// dashboard, "": none.
func (s *Store) SampleMessage(ctx context.Context, id int64, messageID, publicURL string) (body, contentType string, err error) {
	if err := s.pool.QueryRow(ctx, statement("sample_message"), id, messageID, publicURL).Scan(&body, &contentType); err != nil {
		return "", "", fmt.Errorf("make a sample for webhook %d: %w", id, err)
	}
	return body, contentType, nil
}
