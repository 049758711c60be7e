package webhook

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rowrun/rowrun/notifier"
)

// maxReference is how much a file that is referred to may hold.
const maxReference = 64 << 10

// referenceError says why what a reference names is not to be had here. Its text is for all who may read deliveries, and they may not
// read references: it names none. named does, for the log of this process.
type referenceError struct{ text, named string }

func (e *referenceError) Error() string { return e.text }

// resolve gives the endpoint and what signs. Errors name neither.
func (s *Sender) resolve(m notifier.Message) (*url.URL, []*standardwebhooks.Webhook, error) {
	text, err := s.dereference("url", m.URL)
	if err != nil {
		return nil, nil, err
	}
	target, err := url.Parse(text)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" {
		return nil, nil, errors.New("url is not an http or https URL")
	}
	if target.User != nil {
		return nil, nil, errors.New("url has credentials in it")
	}
	if m.SecretRef == "" {
		return target, nil, nil
	}
	secret, err := s.dereference("secret_ref", m.SecretRef)
	if err != nil {
		return nil, nil, err
	}
	signers, err := parseSecrets(secret)
	return target, signers, err
}

// IsReference says whether a text is env:NAME or file:PATH.
func IsReference(text string) bool {
	variable, isEnv := strings.CutPrefix(text, "env:")
	path, isFile := strings.CutPrefix(text, "file:")
	return isEnv && variable != "" || isFile && path != ""
}

// dereference reads what env:NAME or file:PATH names, and gives any other value as it is. name is the column's. Of a
// reference that isn't allowed it says nothing more: not whether it exists; of a file that can't be read not why.
func (s *Sender) dereference(name, value string) (string, error) {
	if (strings.HasPrefix(value, "env:") || strings.HasPrefix(value, "file:")) && !slices.Contains(s.cfg.References, value) {
		return "", unusable(name, "its reference", value, "is not among the webhook_secrets of this replica's --config: add it there")
	}
	if variable, ok := strings.CutPrefix(value, "env:"); ok {
		text, _ := s.cfg.Lookup(variable)
		if text = strings.TrimSpace(text); text == "" {
			return "", unusable(name, "the variable that it names", value, "is not set in this replica")
		}
		return text, nil
	}
	if path, ok := strings.CutPrefix(value, "file:"); ok {
		text, err := readFile(path)
		if err != nil {
			return "", unusable(name, "the file that it names", value, "can't be read by this replica")
		}
		return text, nil
	}
	return value, nil
}

func unusable(column, what, reference, why string) *referenceError {
	return &referenceError{text: column + ": " + what + " " + why, named: column + ": " + reference + " " + why}
}

// named is why something can't be had, with the reference where it is one.
func named(err error) string {
	if reference, ok := errors.AsType[*referenceError](err); ok {
		return reference.named
	}
	return err.Error()
}

var errContent = errors.New("not a file of at most 64 KiB with a text in it")

// readFile reads one short text. A pipe or a device could keep it waiting, and is none.
func readFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errContent
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxReference+1))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(content))
	if text == "" || len(content) > maxReference {
		return "", errContent
	}
	return text, nil
}

// parseSecrets reads one secret, or several separated by spaces. The library's error isn't wrapped: nothing of a secret
// may show.
func parseSecrets(text string) ([]*standardwebhooks.Webhook, error) {
	var signers []*standardwebhooks.Webhook
	for i, secret := range strings.Fields(text) {
		key, found := strings.CutPrefix(secret, "whsec_")
		signer, err := standardwebhooks.NewWebhook(key)
		if !found || key == "" || err != nil {
			return nil, fmt.Errorf("secret_ref: secret %d is not whsec_ followed by base64", i+1)
		}
		signers = append(signers, signer)
	}
	return signers, nil
}
