package store

import (
	"context"
	"fmt"
)

// NewWebhook is a webhook that is to be made; what is not said has the columns' defaults.
type NewWebhook struct {
	Project   string // required
	Name      string // required
	URL       string // required; env:NAME and file:PATH are read by the sidecar
	SecretRef string // "": unsigned
}

// MakeWebhookOnce makes a webhook, unless there is one of that project and name already. Two calls at the same moment
// may both make one: names of webhooks are free.
func (s *Store) MakeWebhookOnce(ctx context.Context, w NewWebhook) error {
	if _, err := s.pool.Exec(ctx, statement("make_webhook"), w.Project, w.Name, w.URL, w.SecretRef); err != nil {
		return fmt.Errorf("make webhook: %w", err)
	}
	return nil
}
