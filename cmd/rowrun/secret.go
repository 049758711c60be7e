package main

import (
	"io"
	"os"
	"strings"
)

// A secret file holds one line; more than this is the wrong file.
const maxSecretBytes = 64 << 10

// resolveSecret gives what env:NAME or file:PATH names, and any other value as
// it is. source is named in errors, the value never is.
func resolveSecret(source, value string, lookup func(string) (string, bool)) (string, error) {
	if name, ok := strings.CutPrefix(value, "env:"); ok {
		resolved, ok := lookup(name)
		if !ok || resolved == "" {
			return "", usagef("%s: env:%s names a variable that is not set", source, name)
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
		return "", usagef("%s: %w", source, err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxSecretBytes+1))
	if err != nil {
		return "", usagef("%s: %w", source, err)
	}
	if len(content) > maxSecretBytes {
		return "", usagef("%s: file:%s has more than %d bytes", source, path, maxSecretBytes)
	}
	text := strings.TrimSpace(string(content))
	if text == "" {
		return "", usagef("%s: file:%s is empty", source, path)
	}
	return text, nil
}
