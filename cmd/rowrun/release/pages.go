package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/commands"
)

// pages are a man page for each command, and completions for four shells, made from the commands themselves.
func pages(version string, at time.Time, scratch string) ([]file, error) {
	root := commands.Root(cli.Environment{Lookup: func(string) (string, bool) { return "", false }, Version: "v" + version})
	root.DisableAutoGenTag = true
	root.CompletionOptions.DisableDefaultCmd = true
	dir := filepath.Join(scratch, "man")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	header := &doc.GenManHeader{Section: "1", Date: &at, Source: "Rowrun " + version, Manual: "Rowrun"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return nil, fmt.Errorf("man pages: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, entry := range entries {
		page, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{path: "man/man1/" + entry.Name(), mode: 0o644, data: page})
	}
	for _, shell := range []struct {
		path  string
		write func(*bytes.Buffer) error
	}{
		{"completions/bash/rowrun", func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) }},
		{"completions/zsh/_rowrun", func(b *bytes.Buffer) error { return root.GenZshCompletion(b) }},
		{"completions/fish/rowrun.fish", func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) }},
		{"completions/powershell/rowrun.ps1", func(b *bytes.Buffer) error { return root.GenPowerShellCompletionWithDesc(b) }},
	} {
		var text bytes.Buffer
		if err := shell.write(&text); err != nil {
			return nil, fmt.Errorf("%s: %w", shell.path, err)
		}
		files = append(files, file{path: shell.path, mode: 0o644, data: text.Bytes()})
	}
	return files, nil
}
