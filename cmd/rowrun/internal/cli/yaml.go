package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// writeYAML writes what JSON would say, with its names and in its order: JSON is YAML, of which only the style is changed.
func writeYAML(w io.Writer, value any) error {
	document, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var node yaml.Node
	if err := yaml.Unmarshal(document, &node); err != nil {
		return err
	}
	block(&node)
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(&node); err != nil {
		return err
	}
	_, err = escaped{w, func(r rune) string {
		if r > 0xFFFF {
			return fmt.Sprintf(`\U%08x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}}.Write(text.Bytes())
	return err
}

// block takes the style of JSON from a node and all below it. A text that isn't printable stays in double quotes, in which
// alone it can be escaped.
func block(node *yaml.Node) {
	node.Style = 0
	if node.Kind == yaml.ScalarNode && strings.ContainsFunc(node.Value, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		node.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range node.Content {
		block(child)
	}
}
