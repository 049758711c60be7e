package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nonroot is the user of the image, a number that others use for the same.
const nonroot = 65532

// platformImage is the image of one target.
type platformImage struct {
	target target
	image  v1.Image
}

// image is the program alone, with what a program needs of a system: certificates of authorities, time zones, a user, /tmp.
func (r *release) image(t target, binary string) (v1.Image, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	system, err := r.system()
	if err != nil {
		return nil, err
	}
	program := []file{{path: "usr/bin/rowrun", mode: 0o755, data: content}}
	image := empty.Image
	for _, files := range [][]file{system, program} {
		layer, err := layerOf(files, r.epoch)
		if err != nil {
			return nil, err
		}
		history := v1.History{Created: v1.Time{Time: r.epoch}, CreatedBy: "make release VERSION=v" + r.version}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: history}); err != nil {
			return nil, err
		}
	}
	image = mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON)
	made, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	made = made.DeepCopy()
	made.OS, made.Architecture, made.Created = t.os, t.arch, v1.Time{Time: r.epoch}
	if t.arch == "arm64" {
		made.Variant = "v8"
	}
	user := fmt.Sprintf("%d:%[1]d", nonroot)
	made.Config = v1.Config{
		User:       user,
		Env:        []string{"PATH=/usr/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		Entrypoint: []string{"/usr/bin/rowrun"},
		Cmd:        []string{"serve"},
		WorkingDir: "/",
		StopSignal: "SIGTERM",
		Healthcheck: &v1.HealthConfig{
			Test: []string{"CMD", "/usr/bin/rowrun", "healthcheck"}, Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3,
		},
		ExposedPorts: map[string]struct{}{"8484/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": "rowrun", "org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": "https://" + module, "org.opencontainers.image.created": r.epoch.Format(time.RFC3339),
		},
	}
	return mutate.ConfigFile(image, made)
}

// layerOf packs files into a layer. What is packed again is the same.
func layerOf(files []file, at time.Time) (v1.Layer, error) {
	var packed bytes.Buffer
	if err := writeTar(&packed, files, at); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
}

// system is what is not ours: certificates and zones come with modules and Go, so that they are those of the commit and not
// of the machine.
func (r *release) system() ([]file, error) {
	var authorities bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // trusted for some of its certificates only, which a file can't say
		}
		if err := pem.Encode(&authorities, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	files := []file{
		{path: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities.Bytes()},
		{path: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%[1]d:nonroot:/:/sbin/nologin\n", nonroot)},
		{path: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", nonroot)},
		{path: "etc/nsswitch.conf", mode: 0o644, data: []byte("hosts: files dns\n")},
		{path: "tmp/", mode: 0o777 | fs.ModeSticky},
		{path: "usr/share/doc/rowrun/THIRD_PARTY_LICENSES.txt", mode: 0o644, data: r.licenses.text},
	}
	license, err := r.read(map[string]string{"LICENSE": "usr/share/doc/rowrun/copyright"})
	if err != nil {
		return nil, err
	}
	zones, err := r.zones()
	return append(append(files, license...), zones...), err
}

// zones are Go's time zones, as files where programs look for them.
func (r *release) zones() ([]file, error) {
	packed, err := zip.OpenReader(filepath.Join(r.goroot, "lib/time/zoneinfo.zip"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = packed.Close() }()
	var files []file
	for _, entry := range packed.File {
		if strings.HasSuffix(entry.Name, "/") {
			continue
		}
		in, err := entry.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
		files = append(files, file{path: "usr/share/zoneinfo/" + entry.Name, mode: 0o644, data: data})
	}
	return files, nil
}

// writeImages writes an archive for each image, and one of all of them.
func (r *release) writeImages(images []platformImage) error {
	for _, p := range images {
		if err := r.writeImage(fmt.Sprintf("rowrun_%s_%s_%s.image.tar", r.version, p.target.os, p.target.arch), p); err != nil {
			return err
		}
	}
	if len(images) < 2 {
		return nil
	}
	return r.writeImage(fmt.Sprintf("rowrun_%s.image.tar", r.version), images...)
}

// writeImage writes an OCI layout as a tar, which skopeo, podman, crane and containerd read. One of a single image says
// also what `docker load` asks for.
func (r *release) writeImage(fileName string, images ...platformImage) error {
	tag, err := name.NewTag("rowrun:" + r.version)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(r.scratch, "layout-")
	if err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// containerd keeps an image under this name as it stands. Docker looks for rowrun:VERSION under the host's name of today,
	// the library gives the one before that.
	full := strings.TrimPrefix(tag.Name(), "index.")
	named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": full})
	if len(images) == 1 {
		err = path.AppendImage(images[0].image, named, layout.WithPlatform(platformOf(images[0])))
	} else {
		index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
		for _, p := range images {
			platform := platformOf(p)
			index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: p.image, Descriptor: v1.Descriptor{Platform: &platform}})
		}
		err = path.AppendIndex(index, named)
	}
	if err != nil {
		return err
	}
	files, err := treeOf(dir)
	if err != nil {
		return err
	}
	if len(images) == 1 {
		manifest, err := dockerManifest(images[0].image, "rowrun:"+r.version)
		if err != nil {
			return err
		}
		files = append(files, file{path: "manifest.json", mode: 0o644, data: manifest})
	}
	return r.create(fileName, func(w io.Writer) error { return writeTar(w, files, r.epoch) })
}

func platformOf(p platformImage) v1.Platform {
	platform := v1.Platform{OS: p.target.os, Architecture: p.target.arch}
	if p.target.arch == "arm64" {
		platform.Variant = "v8"
	}
	return platform
}

// dockerManifest is what `docker load` reads: where in the layout the configuration and the layers are.
func dockerManifest(image v1.Image, tag string) ([]byte, error) {
	blob := func(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
	config, err := image.ConfigName()
	if err != nil {
		return nil, err
	}
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	entry := struct {
		Config   string
		RepoTags []string
		Layers   []string
	}{Config: blob(config), RepoTags: []string{tag}}
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return nil, err
		}
		entry.Layers = append(entry.Layers, blob(digest))
	}
	return json.Marshal([]any{entry})
}

// treeOf reads all files below dir.
func treeOf(dir string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, p)
		files = append(files, file{path: filepath.ToSlash(below), mode: 0o644, data: data})
		return err
	})
	return files, err
}
