package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is one of an archive or a package. One whose path ends in a slash is a directory.
type file struct {
	path string
	mode fs.FileMode
	data []byte
	uid  int
}

// inOrder is files sorted, with the directories above them.
func inOrder(files []file) []file {
	known := map[string]bool{}
	for _, f := range files {
		known[f.path] = true
	}
	for _, f := range slices.Clone(files) {
		for dir := path.Dir(strings.TrimSuffix(f.path, "/")); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if !known[dir+"/"] {
				known[dir+"/"] = true
				files = append(files, file{path: dir + "/", mode: 0o755})
			}
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files
}

// writeTar writes files with one time and no owner's name.
func writeTar(w io.Writer, files []file, at time.Time) error {
	t := tar.NewWriter(w)
	for _, f := range inOrder(files) {
		header := &tar.Header{Name: f.path, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)), ModTime: at, Uid: f.uid, Gid: f.uid, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if f.mode&fs.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
		if strings.HasSuffix(f.path, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(header); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		if _, err := t.Write(f.data); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return t.Close()
}

func writeTarGz(w io.Writer, files []file, at time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(z, files, at); err != nil {
		return err
	}
	return z.Close()
}

func writeZip(w io.Writer, files []file, at time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range inOrder(files) {
		header := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		if strings.HasSuffix(f.path, "/") {
			header.Method = zip.Store
		}
		entry, err := z.CreateHeader(header)
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		if _, err := entry.Write(f.data); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return z.Close()
}

// create writes a file of the release.
func (r *release) create(name string, write func(io.Writer) error) error {
	out, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	if err := write(out); err != nil {
		_ = out.Close()
		return fmt.Errorf("%s: %w", name, err)
	}
	say("  %s", name)
	return out.Close()
}

// read takes files of the repository along, under another path; what git ignores stays.
func (r *release) read(paths map[string]string) ([]file, error) {
	var files []file
	for from, to := range paths {
		err := filepath.WalkDir(filepath.Join(r.source, from), func(p string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(r.source, p)
			if err != nil {
				return err
			}
			if entry.IsDir() {
				if r.ignored[filepath.ToSlash(name)+"/"] {
					return fs.SkipDir
				}
				return nil
			}
			if r.ignored[filepath.ToSlash(name)] {
				return nil
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			mode := fs.FileMode(0o644)
			if strings.HasSuffix(p, ".sh") {
				mode = 0o755
			}
			below, err := filepath.Rel(filepath.Join(r.source, from), p)
			if err != nil {
				return err
			}
			files = append(files, file{path: path.Join(to, filepath.ToSlash(below)), mode: mode, data: data})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// archive makes the tar.gz of a target, the zip for Windows: all that one needs without a package manager.
func (r *release) archive(t target, binary string) error {
	name := fmt.Sprintf("rowrun_%s_%s_%s", r.version, t.os, t.arch)
	files, err := r.read(map[string]string{
		"README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md", "LICENSE": "LICENSE", "deploy": "deploy", "docs": "docs",
	})
	if err != nil {
		return err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	files = append(files, file{path: filepath.Base(binary), mode: 0o755, data: program},
		file{path: "THIRD_PARTY_LICENSES.txt", mode: 0o644, data: r.licenses.text})
	files = append(files, r.pages...)
	for i := range files {
		files[i].path = name + "/" + files[i].path
	}
	if t.os == "windows" {
		return r.create(name+".zip", func(w io.Writer) error { return writeZip(w, files, r.epoch) })
	}
	return r.create(name+".tar.gz", func(w io.Writer) error { return writeTarGz(w, files, r.epoch) })
}

// checksums makes SHA256SUMS, as `sha256sum --check` reads it.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out) // sorted
	if err != nil {
		return err
	}
	return r.create("SHA256SUMS", func(w io.Writer) error {
		for _, entry := range entries {
			in, err := os.Open(filepath.Join(r.out, entry.Name()))
			if err != nil {
				return err
			}
			sum := sha256.New()
			_, err = io.Copy(sum, in)
			_ = in.Close()
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%x  %s\n", sum.Sum(nil), entry.Name()); err != nil {
				return err
			}
		}
		return nil
	})
}
