package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// version is what the tests release.
const version = "1.2.3-rc.1"

// all says that every target is made, as make test-release does; otherwise this machine's alone.
var all = os.Getenv("ROWRUN_RELEASE_TARGETS") == "all" //nolint:gochecknoglobals // asked once

func TestMain(m *testing.M) { storetest.Main(m) }

// made is one release for all tests, in a place of the repository that is not kept: each release removes the last one.
var made = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // made once
	const dir = "../../../bin/release-test"
	return dir, run(context.Background(), []string{"-version", "v" + version, "-out", dir, "-source", "../../..", "-targets", targets()})
})

func targets() string {
	if all {
		return everything
	}
	return "linux/" + runtime.GOARCH
}

// dist is where the release is.
func dist(t *testing.T) string {
	t.Helper()
	dir, err := made()
	require.NoError(t, err)
	return dir
}

// archivePath is the one file of the release with this end.
func archivePath(t *testing.T, end string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist(t), "*"+end))
	require.NoError(t, err)
	require.Len(t, found, 1, end)
	return found[0]
}

// tree are the files of a tar, by path.
func tree(t *testing.T, in io.Reader) map[string]tree1 {
	t.Helper()
	files := map[string]tree1{}
	for archive := tar.NewReader(in); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		data, err := io.ReadAll(archive)
		require.NoError(t, err)
		files[strings.TrimPrefix(header.Name, "./")] = tree1{header, data}
	}
}

type tree1 struct {
	header *tar.Header
	data   []byte
}

// unpack writes a tree below dir.
func unpack(t *testing.T, files map[string]tree1, dir string) {
	t.Helper()
	for name, f := range files {
		path := filepath.Join(dir, name)
		if f.header.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(path, 0o755))
			require.NoError(t, os.Chmod(path, f.header.FileInfo().Mode()))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, storetest.Unforked(func() error { return os.WriteFile(path, f.data, f.header.FileInfo().Mode().Perm()) }))
	}
}

func TestVersionThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"", "93f9246", "v1", "1.2.3+x", "v01.2.3", "v1.2.3-"} {
		require.ErrorContains(t, run(t.Context(), []string{"-version", wrong}), "is not accepted; accepted: a version such as v0.1.0", wrong)
	}
	require.ErrorContains(t, run(t.Context(), []string{"-version", "v1.2.3", "-targets", "plan9/386"}), "plan9/386")
}

// TestTwoRunsMakeTheSameBytes: elsewhere, at another time, in another zone, under another mask.
func TestTwoRunsMakeTheSameBytes(t *testing.T) {
	t.Parallel()
	first, err := os.ReadFile(filepath.Join(dist(t), "SHA256SUMS"))
	require.NoError(t, err)
	tool := filepath.Join(t.TempDir(), "release")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", tool, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	other := t.TempDir()
	again := exec.CommandContext(t.Context(), "sh", "-c", `umask 077; exec "$0" "$@"`, tool, "-version", version, "-out", filepath.Join(other, "else where"), "-source", "../../..", "-targets", targets())
	again.Env = append(os.Environ(), "TMPDIR="+other, "TZ=Asia/Kathmandu", "LANG=C", "HOSTNAME=other")
	out, err = again.CombinedOutput()
	require.NoError(t, err, "%s", out)
	second, err := os.ReadFile(filepath.Join(other, "else where", "SHA256SUMS"))
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
}

// TestWhatGitIgnoresIsNotReleased: what npm has installed below deploy is of no commit.
func TestWhatGitIgnoresIsNotReleased(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		".gitignore": "/deploy/workers/node_modules/\n*.out\n", "deploy/workers/worker.js": "1", "deploy/workers/node_modules/x/index.js": "2", "deploy/a.out": "3", "deploy/new.yaml": "4",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	r := &release{source: dir}
	_, err := r.command(t.Context(), nil, "git", "init", "-q")
	require.NoError(t, err)
	r.ignored, err = r.findIgnored(t.Context())
	require.NoError(t, err)
	files, err := r.read(map[string]string{"deploy": "deploy"})
	require.NoError(t, err)
	var paths []string
	for _, f := range files {
		paths = append(paths, f.path)
	}
	require.ElementsMatch(t, []string{"deploy/workers/worker.js", "deploy/new.yaml"}, paths)
}

func TestWhatIsNoReleaseIsNotRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.txt")
	require.NoError(t, os.WriteFile(mine, nil, 0o600))
	require.ErrorContains(t, (&release{out: dir}).clear(), "holds mine.txt, which is of no release")
	require.FileExists(t, mine)
}

func TestChecksumsAreOfAllFiles(t *testing.T) {
	t.Parallel()
	sums, err := os.Open(filepath.Join(dist(t), "SHA256SUMS"))
	require.NoError(t, err)
	defer func() { _ = sums.Close() }()
	checked := 0
	for lines := bufio.NewScanner(sums); lines.Scan(); checked++ {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		require.True(t, ok)
		content, err := os.ReadFile(filepath.Join(dist(t), name))
		require.NoError(t, err)
		require.Equal(t, sum, fmt.Sprintf("%x", sha256.Sum256(content)), name)
	}
	entries, err := os.ReadDir(dist(t))
	require.NoError(t, err)
	require.Equal(t, len(entries)-1, checked)
	if all {
		require.Equal(t, 5+5+2+2+3, checked, "archives, SBOMs, .deb, .rpm, images")
	}
}

// native unpacks this machine's archive and returns its directory.
func native(t *testing.T) string {
	t.Helper()
	in, err := os.Open(archivePath(t, "linux_"+runtime.GOARCH+".tar.gz"))
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	packed, err := gzip.NewReader(in)
	require.NoError(t, err)
	dir := t.TempDir()
	unpack(t, tree(t, packed), dir)
	return filepath.Join(dir, "rowrun_"+version+"_linux_"+runtime.GOARCH)
}

func TestArchiveHasWhatAnInstallationNeeds(t *testing.T) {
	t.Parallel()
	dir := native(t)
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "rowrun"), "version").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "v"+version)
	out, err = exec.CommandContext(t.Context(), "ldd", filepath.Join(dir, "rowrun")).CombinedOutput()
	require.Contains(t, string(out), "not a dynamic executable", "%v", err)
	for path, has := range map[string]string{
		"man/man1/rowrun.1":                 "rowrun-serve(1)",
		"man/man1/rowrun-serve.1":           "--drain-timeout",
		"completions/zsh/_rowrun":           "#compdef rowrun",
		"completions/fish/rowrun.fish":      "complete -c rowrun",
		"THIRD_PARTY_LICENSES.txt":          "github.com/jackc/pgx/v5 v",
		"LICENSE":                           "Apache License",
		"docs/install.md":                   "# Install",
		"deploy/systemd/rowrun.service":     "Type=notify",
		"deploy/kubernetes/deployment.yaml": "kind: Deployment",
	} {
		text, err := os.ReadFile(filepath.Join(dir, path))
		require.NoError(t, err)
		require.Contains(t, string(text), has, path)
	}
	// Completion works in a shell: it asks the program.
	const ask = `source "$1"; COMP_WORDS=(rowrun heal); COMP_CWORD=1; COMP_LINE='rowrun heal'; COMP_POINT=11; COMP_TYPE=9
_get_comp_words_by_ref() { cur=heal; prev=rowrun; words=("${COMP_WORDS[@]}"); cword=1; }; _init_completion() { _get_comp_words_by_ref; }
__start_rowrun; echo "${COMPREPLY[@]}"`
	shell := exec.CommandContext(t.Context(), "bash", "-c", ask, "bash", filepath.Join(dir, "completions/bash/rowrun"))
	shell.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, err = shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "healthcheck")
}

// TestArchiveInstallsAsThePageSays runs the block of docs/install.md, below another root.
func TestArchiveInstallsAsThePageSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/install.md")
	require.NoError(t, err)
	_, block, ok := strings.Cut(string(page), "```sh\ntar xzf ")
	require.True(t, ok)
	block, _, ok = strings.Cut("tar xzf "+block, "```")
	require.True(t, ok)
	root := t.TempDir()
	for from, to := range map[string]string{"sudo ": "", "/usr/local": root, "0.1.0": version, "linux_amd64": "linux_" + runtime.GOARCH, "tar xzf ": "tar xzf " + must(filepath.Abs(dist(t))) + "/"} {
		require.Contains(t, block, from)
		block = strings.ReplaceAll(block, from, to)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(root, "bin"), 0o755))
	shell := exec.CommandContext(t.Context(), "bash", "-ec", block)
	shell.Dir = t.TempDir()
	shell.Env = []string{"PATH=" + filepath.Join(root, "bin") + ":" + os.Getenv("PATH")}
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "v"+version)
	require.FileExists(t, filepath.Join(root, "share/man/man1/rowrun-serve.1"))
	require.FileExists(t, filepath.Join(root, "share/zsh/site-functions/_rowrun"))
}

// TestBillOfMaterialsIsThatOfTheBinary compares it with what Go reads in the binary.
func TestBillOfMaterialsIsThatOfTheBinary(t *testing.T) {
	t.Parallel()
	info, err := buildinfo.ReadFile(filepath.Join(native(t), "rowrun"))
	require.NoError(t, err)
	text, err := os.ReadFile(archivePath(t, "linux_"+runtime.GOARCH+".cdx.json"))
	require.NoError(t, err)
	var bom cyclonedx.BOM
	require.NoError(t, cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&bom))
	have := map[string]bool{}
	for _, part := range *bom.Components {
		have[part.Name+"@"+part.Version] = true
		require.NotEmpty(t, (*part.Licenses)[0].License.ID, part.Name)
	}
	for _, dep := range info.Deps {
		require.True(t, have[dep.Path+"@"+dep.Version], dep.Path)
	}
	require.True(t, have["std@"+strings.TrimPrefix(info.GoVersion, "go")])
	require.Len(t, have, len(info.Deps)+1)
	require.Equal(t, "v"+version, bom.Metadata.Component.Version)
}

func TestLicencesThatNobodyKnowsEndTheRelease(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Permission is hereby granted, free of charge,\n to any person obtaining a copy": "MIT",
		"Redistribution and use in source and binary forms … Neither the name of":        "BSD-3-Clause",
		"Mozilla Public License Version 2.0\n====\n1.4. \"Covered Software\"":            "MPL-2.0",
		"GNU AFFERO GENERAL PUBLIC LICENSE Version 3":                                    "",
		"": "",
	} {
		require.Equal(t, want, identify(text))
	}
}
