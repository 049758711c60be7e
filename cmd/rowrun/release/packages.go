package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// systemPackages makes the .deb and the .rpm of a target: the program, its service, man pages and completions.
func (r *release) systemPackages(t target, binary string) error {
	dir := filepath.Join(r.scratch, "package_"+t.arch)
	contents, err := r.contents(dir, binary)
	if err != nil {
		return err
	}
	script := func(name string) string { return filepath.Join(r.source, "deploy/systemd", name) }
	for _, format := range []string{"deb", "rpm"} {
		info := &nfpm.Info{
			Name: "rowrun", Arch: t.arch, Platform: t.os, Version: r.version, VersionSchema: "semver", Release: "1",
			Section: "database", Priority: "optional", Maintainer: "The Rowrun authors <noreply@rowrun.invalid>", Vendor: "Rowrun",
			Homepage: "https://" + module, License: "Apache-2.0", MTime: r.epoch,
			Description: "Sidecar for PostgreSQL that runs the rows of a table\nInsert a row into rowrun.task_run, and one healthy replica runs it.\n" +
				"This package has the program and its service, which is not started: the\ndatabase's URL belongs into /etc/rowrun/rowrun.env first.",
			Overridables: nfpm.Overridables{
				Contents: contents,
				Scripts:  nfpm.Scripts{PostInstall: script("postinstall.sh"), PreRemove: script("preremove.sh"), PostRemove: script("postremove.sh")},
				RPM:      nfpm.RPM{BuildHost: "localhost", Compression: "gzip", Summary: "Sidecar for PostgreSQL that runs the rows of a table"},
				Deb:      nfpm.Deb{Compression: "gzip"},
			},
		}
		info = nfpm.WithDefaults(info)
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		err = r.create(packager.ConventionalFileName(info), func(w io.Writer) error { return packager.Package(info, w) })
		if err != nil {
			return err
		}
	}
	return nil
}

// contents lays out what both packages have, below dir.
func (r *release) contents(dir, binary string) (files.Contents, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	tree, err := r.read(map[string]string{
		"deploy/systemd/rowrun.service":  "usr/lib/systemd/system/rowrun.service",
		"deploy/systemd/rowrun.sysusers": "usr/lib/sysusers.d/rowrun.conf",
		"deploy/systemd/rowrun.env":      "etc/rowrun/rowrun.env",
		"deploy/systemd/rowrun.yaml":     "etc/rowrun/rowrun.yaml",
		"deploy/roles.sql":               "usr/share/doc/rowrun/roles.sql",
		"deploy/prometheus":              "usr/share/doc/rowrun/prometheus",
		"deploy/grafana":                 "usr/share/doc/rowrun/grafana",
		"deploy/coming-from":             "usr/share/doc/rowrun/coming-from",
		"README.md":                      "usr/share/doc/rowrun/README.md",
		"CHANGELOG.md":                   "usr/share/doc/rowrun/CHANGELOG.md",
		"docs":                           "usr/share/doc/rowrun/docs",
		"LICENSE":                        "usr/share/doc/rowrun/copyright",
	})
	if err != nil {
		return nil, err
	}
	tree = append(tree,
		file{path: "usr/bin/rowrun", mode: 0o755, data: program},
		file{path: "usr/share/doc/rowrun/THIRD_PARTY_LICENSES.txt", mode: 0o644, data: r.licenses.text})
	for _, page := range r.pages {
		if name, ok := strings.CutPrefix(page.path, "man/"); ok {
			packed, err := gzipped(page.data)
			if err != nil {
				return nil, err
			}
			tree = append(tree, file{path: "usr/share/man/" + name + ".gz", mode: 0o644, data: packed})
		}
	}
	var contents files.Contents
	add := func(f file, packager string) error {
		from := filepath.Join(dir, packager, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(from, f.data, 0o600); err != nil {
			return err
		}
		content := &files.Content{Source: from, Destination: "/" + f.path, Packager: packager, FileInfo: &files.ContentFileInfo{Mode: f.mode, MTime: r.epoch, Owner: "root", Group: "root"}}
		if strings.HasPrefix(f.path, "etc/") {
			content.Type = files.TypeConfigNoReplace
			if strings.HasSuffix(f.path, ".env") {
				content.FileInfo.Mode = 0o600 // secrets
			}
		}
		contents = append(contents, content)
		return nil
	}
	for _, f := range inOrder(tree) {
		if f.mode.IsDir() || strings.HasSuffix(f.path, "/") {
			continue
		}
		if err := add(f, ""); err != nil {
			return nil, err
		}
	}
	return contents, r.addCompletions(add)
}

// addCompletions puts completions where each distribution's shells look.
func (r *release) addCompletions(add func(file, string) error) error {
	places := map[string]map[string]string{
		"completions/bash/rowrun":      {"": "usr/share/bash-completion/completions/rowrun"},
		"completions/zsh/_rowrun":      {"deb": "usr/share/zsh/vendor-completions/_rowrun", "rpm": "usr/share/zsh/site-functions/_rowrun"},
		"completions/fish/rowrun.fish": {"": "usr/share/fish/vendor_completions.d/rowrun.fish"},
	}
	for _, page := range r.pages {
		for _, packager := range sortedKeys(places[page.path]) {
			if err := add(file{path: places[page.path][packager], mode: fs.FileMode(0o644), data: page.data}, packager); err != nil {
				return fmt.Errorf("%s: %w", page.path, err)
			}
		}
	}
	return nil
}

func gzipped(data []byte) ([]byte, error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
