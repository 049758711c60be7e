package webhook

import (
	"errors"
	"net/http"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Verifier checks messages as a receiver does.
type Verifier struct{ secrets []*standardwebhooks.Webhook }

// NewVerifier knows the secrets that reference names, env:NAME or file:PATH: one, or several separated by spaces. Its
// errors name none of them.
func NewVerifier(reference string, lookup func(string) (string, bool)) (*Verifier, error) {
	if !IsReference(reference) {
		return nil, errors.New("it is env:NAME or file:PATH, where the secret stands")
	}
	reader := Sender{Config{Lookup: lookup, References: []string{reference}}}
	text, err := reader.dereference("secret_ref", reference)
	if err == nil {
		var secrets []*standardwebhooks.Webhook
		if secrets, err = parseSecrets(text); err == nil {
			return &Verifier{secrets}, nil
		}
	}
	return nil, errors.New(strings.TrimPrefix(named(err), "secret_ref: ")) // whoever asks has given it
}

// Verify says what is wrong with a message, nil: one of the secrets has signed it, less than five minutes ago.
func (v *Verifier) Verify(header http.Header, body []byte) error {
	failure := errors.New("no secret is known")
	for _, secret := range v.secrets {
		switch err := secret.Verify(body, header); {
		case err == nil:
			return nil
		case header.Get(standardwebhooks.HeaderWebhookSignature) == "":
			failure = errors.New("it is not signed")
		case errors.Is(err, standardwebhooks.ErrMessageTooOld), errors.Is(err, standardwebhooks.ErrMessageTooNew):
			failure = errors.New("its time is more than five minutes away")
		case errors.Is(err, standardwebhooks.ErrNoMatchingSignature):
			failure = errors.New("no signature fits")
		default:
			failure = errors.New("its headers are not those of Standard Webhooks")
		}
	}
	return failure
}
