package commands

import (
	"encoding/json"
	"strings"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
)

// webhookFilter reads --filter: a JSON object as it is, otherwise task=…,type=…,queue=…,label=KEY:VALUE. A key that is given
// twice takes either value; "" is no filter. The database says whether it goes with the events.
func webhookFilter(text string) (json.RawMessage, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if !json.Valid([]byte(text)) {
			return nil, cli.Usagef("--filter: what begins with { is a JSON object, and this isn't one; accepted: %s", `'{"type": ["HTTP", "report"], "label": {"team": "core"}}'`)
		}
		return json.RawMessage(text), nil
	}
	const forms = "task=NAME, type=TYPE, queue=QUEUE and label=KEY:VALUE, separated by commas, or a JSON object"
	values, labels := map[string]any{}, map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		switch {
		case !ok || value == "":
			return nil, cli.Usagef("--filter: %q is not accepted; accepted: %s", part, forms)
		case key == "label":
			name, worth, ok := strings.Cut(value, ":")
			if _, twice := labels[name]; !ok || name == "" || twice {
				return nil, cli.Usagef("--filter: %q is not accepted; accepted: label=KEY:VALUE, each key once", part)
			}
			labels[name] = worth
		case key == "task" || key == "type" || key == "queue":
			list, _ := values[key].([]string)
			values[key] = append(list, value)
		default:
			return nil, cli.Usagef("--filter: %q is not accepted; accepted: %s%s", part, forms, cli.DidYouMean(key, []string{"task", "type", "queue", "label"}))
		}
	}
	if len(labels) > 0 {
		values["label"] = labels
	}
	return json.Marshal(values)
}
