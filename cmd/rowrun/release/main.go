// Command release makes what a version of Rowrun is installed from: archives with static binaries, packages for Debian and
// Red Hat, images for containers, what stands in each (an SBOM, licences) and the checksums of all. It needs Go and git,
// no Docker, no root and, once the modules are there, no network.
//
// Two runs of one commit with one version of Go make the same bytes: every time in them is SOURCE_DATE_EPOCH, or the
// commit's; files are sorted; no name of this machine gets in. It is a module of its own, so that what packages and images
// are made with is no dependency of the program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// everything is what is released.
const everything = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64"

// release is one run.
type release struct {
	version string // without the v
	source  string // the repository
	out     string
	targets []target
	epoch   time.Time
	commit  string
	goroot  string
	scratch string
	ignored map[string]bool // what git leaves out of the repository: files, and directories with a slash behind

	pages    []file // man pages and completions
	licenses licenses
}

// target is a system and an architecture, in Go's words.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// semver is a version as packages take it: 1.2.3, 1.2.3-rc.1.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$`)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	version := flags.String("version", "", "the version, such as v0.1.0 or v0.2.0-rc.1; required")
	out := flags.String("out", "dist", "where to put it; an earlier release there goes")
	source := flags.String("source", ".", "the repository")
	targets := flags.String("targets", everything, "systems and architectures, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &release{version: strings.TrimPrefix(*version, "v")}
	if !semver.MatchString(r.version) {
		return fmt.Errorf("-version: %q is not accepted; accepted: a version such as v0.1.0 or v0.2.0-rc.1 (make release VERSION=v0.1.0)", *version)
	}
	for text := range strings.SplitSeq(*targets, ",") {
		system, arch, ok := strings.Cut(text, "/")
		if !ok || !strings.Contains(","+everything+",", ","+text+",") {
			return fmt.Errorf("-targets: %q is not accepted; accepted: %s", text, everything)
		}
		r.targets = append(r.targets, target{system, arch})
	}
	if r.source, err = filepath.Abs(*source); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	if err := r.stamp(ctx); err != nil {
		return err
	}
	if r.scratch, err = os.MkdirTemp("", "rowrun-release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.scratch)) }()
	return r.make(ctx)
}

// stamp finds the one time that everything carries, the commit, and where Go is.
func (r *release) stamp(ctx context.Context) error {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		text, err := r.command(ctx, nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return fmt.Errorf("the commit's time: %w; without git set SOURCE_DATE_EPOCH", err)
		}
		seconds = strings.TrimSpace(text)
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %q is no number of seconds", seconds)
	}
	r.epoch = time.Unix(n, 0).UTC()
	if text, err := r.command(ctx, nil, "git", "rev-parse", "HEAD"); err == nil {
		r.commit = strings.TrimSpace(text)
		if changes, err := r.command(ctx, nil, "git", "status", "--porcelain"); err == nil && changes != "" {
			say("the tree differs from commit %.12s: this is no release of it", r.commit)
		}
		if r.ignored, err = r.findIgnored(ctx); err != nil {
			return err
		}
	}
	text, err := r.command(ctx, nil, "go", "env", "GOROOT")
	r.goroot = strings.TrimSpace(text)
	return err
}

// findIgnored asks git what stands in the tree and is of no commit, such as what npm has installed.
func (r *release) findIgnored(ctx context.Context) (map[string]bool, error) {
	text, err := r.command(ctx, nil, "git", "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return nil, err
	}
	ignored := map[string]bool{}
	for name := range strings.SplitSeq(strings.TrimRight(text, "\x00"), "\x00") {
		ignored[name] = true
	}
	return ignored, nil
}

// make makes everything, a target after the other, and the checksums last.
func (r *release) make(ctx context.Context) (err error) {
	if err := r.clear(); err != nil {
		return err
	}
	if r.pages, err = pages(r.version, r.epoch, r.scratch); err != nil {
		return err
	}
	if r.licenses, err = r.findLicenses(ctx); err != nil {
		return err
	}
	var images []platformImage
	for _, t := range r.targets {
		say("%s", t)
		binary, err := r.build(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		if err := r.archive(t, binary); err != nil {
			return fmt.Errorf("%s: archive: %w", t, err)
		}
		if err := r.sbom(t, binary); err != nil {
			return fmt.Errorf("%s: SBOM: %w", t, err)
		}
		if t.os != "linux" {
			continue
		}
		if err := r.systemPackages(t, binary); err != nil {
			return fmt.Errorf("%s: packages: %w", t, err)
		}
		image, err := r.image(t, binary)
		if err != nil {
			return fmt.Errorf("%s: image: %w", t, err)
		}
		images = append(images, platformImage{t, image})
	}
	if err := r.writeImages(images); err != nil {
		return fmt.Errorf("images: %w", err)
	}
	return r.checksums()
}

// clear makes room: an earlier release goes, anything else is left alone.
func (r *release) clear() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() || !strings.HasPrefix(entry.Name(), "rowrun") && entry.Name() != "SHA256SUMS" {
			return fmt.Errorf("-out: %s holds %s, which is of no release; accepted: a directory for releases alone", r.out, entry.Name())
		}
	}
	for _, entry := range entries {
		if err := os.Remove(filepath.Join(r.out, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// build makes the static binary of a target and returns its path.
func (r *release) build(ctx context.Context, t target) (string, error) {
	name := "rowrun"
	if t.os == "windows" {
		name += ".exe"
	}
	path := filepath.Join(r.scratch, t.os+"_"+t.arch, name)
	_, err := r.command(ctx, []string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOFLAGS=", "GOAMD64=", "GOARM64=", "GOWORK=off"},
		"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version=v"+r.version, "-o", path, "./cmd/rowrun")
	return path, err
}

// command runs a program in the repository and returns what it prints.
func (r *release) command(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.source
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, failed.Stderr)
	}
	return string(out), err
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "release: "+format+"\n", args...) }
