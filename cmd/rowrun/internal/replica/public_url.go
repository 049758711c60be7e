package replica

import (
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

// publicURL is strict about signs, as the URL stands within the markup of chats.
var publicURL = regexp.MustCompile(`^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~%/-]*)?$`)

// maxPublicURL is how long it may be: it is in each message.
const maxPublicURL = 500

// RegisterPublicURL adds --public-url.
func RegisterPublicURL(flags *pflag.FlagSet, p *string) {
	flags.StringVar(p, "public-url", "", "`URL` under which people reach the dashboard: messages of webhooks link to /plans/ID and /runs/ID below it")
}

// ParsePublicURL reads what was given as --public-url; it has no slash at its end.
func ParsePublicURL(text string) (string, error) {
	if text != "" && (len(text) > maxPublicURL || !publicURL.MatchString(text)) {
		return "", cli.Usagef("--public-url: %q is not accepted; accepted: a URL such as https://rowrun.example.com/jobs, without user, query and fragment", text)
	}
	return strings.TrimRight(text, "/"), nil
}
