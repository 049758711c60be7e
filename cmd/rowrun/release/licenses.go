package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenses are those of the modules that the program is made of.
type licenses struct {
	text []byte            // all of them, a module after the other
	spdx map[string]string // of a module
}

// standard is Go's library, which is no module.
const standard = "std"

// notices are files whose text goes along with a binary.
var notices = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-._].*)?$`)

// findLicenses reads the licences of all modules that any target is built from. One without a licence that is known here
// is an error: a person has to look at it.
func (r *release) findLicenses(ctx context.Context) (licenses, error) {
	dirs := map[string]string{}
	for _, t := range r.targets {
		text, err := r.command(ctx, []string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOWORK=off"}, "go", "list", "-deps", "-f",
			`{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}{{end}}{{end}}`, "./cmd/rowrun")
		if err != nil {
			return licenses{}, err
		}
		for line := range strings.Lines(text) {
			if module, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				dirs[module] = dir
			}
		}
	}
	dirs[standard] = r.goroot
	found := licenses{spdx: map[string]string{}}
	var all bytes.Buffer
	all.WriteString("Rowrun is licensed under the Apache License 2.0 (LICENSE). Its programs contain what follows.\n")
	for _, module := range sortedKeys(dirs) {
		texts, err := readNotices(dirs[module])
		if err != nil {
			return licenses{}, fmt.Errorf("licence of %s: %w", module, err)
		}
		name, _, _ := strings.Cut(module, " ")
		for _, text := range texts {
			if id := identify(string(text)); id != "" {
				found.spdx[name] = id
				break
			}
		}
		if found.spdx[name] == "" {
			return licenses{}, fmt.Errorf("licence of %s: not known; look at %s, and add it to identify or go without the module", module, dirs[module])
		}
		fmt.Fprintf(&all, "\n%s\n%s (%s)\n%[1]s\n\n", strings.Repeat("=", 80), strings.Replace(module, standard, "The Go standard library", 1), found.spdx[name])
		all.Write(bytes.Join(texts, []byte("\n")))
	}
	found.text = all.Bytes()
	return found, nil
}

func readNotices(dir string) ([][]byte, error) {
	entries, err := os.ReadDir(dir) // sorted: LICENSE before NOTICE
	if err != nil {
		return nil, err
	}
	var texts [][]byte
	for _, entry := range entries {
		if entry.IsDir() || !notices.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, append(bytes.TrimSpace(text), '\n'))
	}
	return texts, nil
}

// identify is the SPDX identifier of a licence's text, "": not one that may be shipped without a look.
func identify(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(parts ...string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
	}
	switch {
	case has("apache license", "version 2.0, january 2004"), has("licensed under the apache license, version 2.0"):
		return "Apache-2.0"
	case has("mozilla public license version 2.0", "covered software"):
		return "MPL-2.0" // per file: its text and where the source is, by the module's path and version, go along
	case has("redistribution and use in source and binary forms", "neither the name"):
		return "BSD-3-Clause"
	case has("redistribution and use in source and binary forms"):
		return "BSD-2-Clause"
	case has("permission is hereby granted, free of charge, to any person obtaining a copy"):
		return "MIT"
	case has("permission to use, copy, modify, and/or distribute this software for any purpose"), has("permission to use, copy, modify, and distribute this software for any purpose"):
		return "ISC"
	}
	return ""
}
