package cli

import (
	"io"
	"os"
	"strings"
	"unicode"
)

// A secret file holds one line; more than this is the wrong file.
const maxSecretBytes = 64 << 10

// ResolveSecret gives what env:NAME or file:PATH names, and any other value as
// it is. source is named in errors, the value never is.
func ResolveSecret(source, value string, lookup func(string) (string, bool)) (string, error) {
	if name, ok := strings.CutPrefix(value, "env:"); ok {
		resolved, ok := lookup(name)
		if !ok || resolved == "" {
			return "", Usagef("%s: env:%s names a variable that is not set", source, name)
		}
		return resolved, nil
	}
	if path, ok := strings.CutPrefix(value, "file:"); ok {
		return readSecret(source, path)
	}
	return value, nil
}

func readSecret(source, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", Usagef("%s: %w", source, err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxSecretBytes+1))
	if err != nil {
		return "", Usagef("%s: %w", source, err)
	}
	if len(content) > maxSecretBytes {
		return "", Usagef("%s: file:%s has more than %d bytes", source, path, maxSecretBytes)
	}
	text := strings.TrimSpace(string(content))
	if text == "" {
		return "", Usagef("%s: file:%s is empty", source, path)
	}
	return text, nil
}

// ResolveToken reads the token of a flag. It is never given in the clear:
// whoever may list processes would have it.
func ResolveToken(flag, value string, lookup func(string) (string, bool)) (string, error) {
	if value == "" {
		return "", nil
	}
	if !strings.HasPrefix(value, "env:") && !strings.HasPrefix(value, "file:") {
		return "", Usagef("%s: is given in the clear; accepted: env:NAME or file:PATH", flag)
	}
	token, err := ResolveSecret(flag, value, lookup)
	if err != nil {
		return "", err
	}
	if strings.ContainsFunc(token, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "", Usagef("%s: the token has spaces or control characters; accepted: one word", flag)
	}
	return token, nil
}
