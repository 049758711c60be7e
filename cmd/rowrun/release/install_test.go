package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sassoftware/go-rpmutils"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// rootDir is a directory that others may enter, as those of tests are not.
func rootDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// inside prepares a program in a root of its own, as another user: it sees nothing of this machine but the network.
func inside(ctx context.Context, root string, id uint32, variables []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Dir = variables, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: id, Gid: id}, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// overTCP is the way to a database for who sees no sockets.
func overTCP(t *testing.T) string {
	t.Helper()
	database, err := url.Parse(storetest.New(t))
	require.NoError(t, err)
	over, err := url.Parse(storetest.Cluster(t).URL(strings.TrimPrefix(database.Path, "/")))
	require.NoError(t, err)
	return over.String()
}

// freeAddr is an address of loopback where nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// serveInside runs a replica until it is ready, asks it as a probe does, and stops it.
func serveInside(t *testing.T, root string, id uint32, variables []string, args ...string) {
	t.Helper()
	var log bytes.Buffer
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	replica := inside(ctx, root, id, variables, args...)
	replica.Stdout, replica.Stderr = &log, &log
	runtime.LockOSThread() // the signal of a parent's death goes by its thread
	defer runtime.UnlockOSThread()
	require.NoError(t, replica.Start())
	healthy := func(live ...string) (string, error) {
		out, err := inside(t.Context(), root, id, variables, append([]string{"/usr/bin/rowrun", "healthcheck"}, live...)...).CombinedOutput()
		return string(out), err
	}
	deadline, tick := time.After(time.Minute), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		out, err := healthy()
		if err == nil {
			require.Equal(t, "ok\n", out)
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			kill()
			_ = replica.Wait()
			require.FailNow(t, "never ready", "%s\n%s", out, log.String())
		}
	}
	_, err := healthy("--live")
	require.NoError(t, err)
	require.NoError(t, replica.Process.Signal(syscall.SIGTERM))
	require.NoError(t, replica.Wait(), "%s", log.String())
	_, err = healthy()
	require.Error(t, err, "nobody is there any more")
}

// TestDebInstallsAndItsServiceRuns installs the package with dpkg, and runs the line that systemd would.
func TestDebInstallsAndItsServiceRuns(t *testing.T) {
	t.Parallel()
	root := rootDir(t)
	for _, dir := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/dpkg/triggers", "etc"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o600))
	dpkg := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "dpkg", append([]string{"--root=" + root, "--force-script-chrootless", "--log=/dev/null"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	deb := archivePath(t, "_"+runtime.GOARCH+".deb")
	dpkg("--install", deb)
	require.Contains(t, dpkg("--status", "rowrun"), "Version: 1.2.3~rc.1-1", "a candidate comes before its release")
	require.Contains(t, dpkg("--verify", "rowrun"), "")
	users, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	require.NoError(t, err)
	var id uint64
	for line := range strings.Lines(string(users)) {
		if fields := strings.Split(line, ":"); fields[0] == "rowrun" {
			id, err = strconv.ParseUint(fields[2], 10, 32)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, id, "the service has a user, and it isn't root")
	require.Equal(t, "rowrun", unit(t, "User"))
	secrets, err := os.Stat(filepath.Join(root, "etc/rowrun/rowrun.env"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), secrets.Mode().Perm())
	for _, path := range []string{"usr/share/man/man1/rowrun.1.gz", "usr/share/bash-completion/completions/rowrun", "usr/share/zsh/vendor-completions/_rowrun", "usr/share/doc/rowrun/copyright"} {
		require.FileExists(t, filepath.Join(root, path))
	}

	// The administrator writes the URL, systemd reads it and runs the line.
	environment := filepath.Join(root, strings.TrimPrefix(unit(t, "EnvironmentFile"), "-"))
	text, err := os.ReadFile(environment)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(environment, append(text, "DATABASE_URL="+overTCP(t)+"\nROWRUN_HTTP_ADDR="+freeAddr(t)+"\n"...), 0o600))
	text, err = os.ReadFile(environment)
	require.NoError(t, err)
	var variables []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			variables = append(variables, line)
		}
	}
	installed, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system/rowrun.service"))
	require.NoError(t, err)
	require.Contains(t, string(installed), "ExecStart="+unit(t, "ExecStart")+"\n")
	serveInside(t, root, uint32(id), variables, strings.Fields(unit(t, "ExecStart"))...)

	// Installed again it keeps what was written, and goes but for that.
	dpkg("--install", deb)
	kept, err := os.ReadFile(environment)
	require.NoError(t, err)
	require.Equal(t, string(text), string(kept))
	dpkg("--remove", "rowrun")
	require.NoFileExists(t, filepath.Join(root, "usr/bin/rowrun"))
	require.FileExists(t, environment)
}

// An upgrade asks for a restart and waits for nothing: a service is ready only once its database is there and has the schema of its
// version, which may come later, and a package that waits or fails holds up all others.
func TestAnUpgradeOfThePackageDoesNotWaitForTheService(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../deploy/systemd/postinstall.sh")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "run/systemd/system"), 0o755))
	require.Contains(t, string(text), " /run/systemd/system ")
	script := strings.ReplaceAll(string(text), " /run/systemd/system ", " "+dir+"/run/systemd/system ")
	for name, program := range map[string]string{
		"systemctl":        "#!/bin/sh\necho \"$*\" >> " + dir + "/asked\ncase \"$*\" in *try-restart*) exit 1;; esac\n",
		"systemd-sysusers": "#!/bin/sh\n",
	} {
		storetest.WriteProgram(t, filepath.Join(dir, name), program)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=" + dir}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "not restarted; see systemctl status rowrun")
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	require.NoError(t, err)
	require.Equal(t, "daemon-reload\n--no-block try-restart rowrun.service\n", string(asked))
}

func TestRPMHasTheSame(t *testing.T) {
	t.Parallel()
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	in, err := os.Open(archivePath(t, "."+arch+".rpm"))
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	pack, err := rpmutils.ReadRpm(in)
	require.NoError(t, err)
	name, err := pack.Header.GetNEVRA()
	require.NoError(t, err)
	require.Equal(t, "rowrun-0:1.2.3~rc.1-1."+arch+".rpm", name.String())
	host, err := pack.Header.GetString(rpmutils.BUILDHOST)
	require.NoError(t, err)
	require.Equal(t, "localhost", host)
	listed, err := pack.Header.GetFiles()
	require.NoError(t, err)
	files := map[string]rpmutils.FileInfo{}
	for _, f := range listed {
		files[f.Name()] = f
	}
	for path, mode := range map[string]int{
		"/usr/bin/rowrun": 0o755, "/usr/lib/systemd/system/rowrun.service": 0o644, "/usr/lib/sysusers.d/rowrun.conf": 0o644,
		"/etc/rowrun/rowrun.env": 0o600, "/usr/share/man/man1/rowrun-serve.1.gz": 0o644, "/usr/share/zsh/site-functions/_rowrun": 0o644,
	} {
		f, ok := files[path]
		require.True(t, ok, path)
		require.Equal(t, mode, f.Mode()&0o777, path)
		require.Equal(t, "root", f.UserName())
	}
	require.NotZero(t, files["/etc/rowrun/rowrun.env"].Flags()&rpmutils.RPMFILE_CONFIG)
	dir := t.TempDir()
	require.NoError(t, storetest.Unforked(func() error { return pack.ExpandPayload(dir) }))
	program := filepath.Join(dir, "usr/bin/rowrun")
	require.NoError(t, os.Chmod(program, 0o700)) // the reader of packages leaves modes out
	out, err := exec.CommandContext(t.Context(), program, "version").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "v"+version)
}

// imageConfig is what a runtime reads of an image.
type imageConfig struct {
	Architecture, OS string
	Config           struct {
		User            string
		Env, Entrypoint []string
		Cmd             []string
		Healthcheck     struct{ Test []string }
		Labels          map[string]string
	}
}

// TestImageRunsInARootOfItsOwn unpacks it as a container's runtime does, and runs its entry point as its user.
func TestImageRunsInARootOfItsOwn(t *testing.T) {
	t.Parallel()
	in, err := os.Open(archivePath(t, "linux_"+runtime.GOARCH+".image.tar"))
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	files := tree(t, in)
	decode := func(path string, into any) {
		require.Contains(t, files, path)
		require.NoError(t, json.Unmarshal(files[path].data, into))
	}
	type descriptor struct {
		MediaType, Digest string
		Annotations       map[string]string
	}
	blob := func(d descriptor) string { return "blobs/" + strings.Replace(d.Digest, ":", "/", 1) }
	var index struct{ Manifests []descriptor }
	decode("index.json", &index)
	require.Len(t, index.Manifests, 1)
	// What containerd files an image under is what docker looks for: without the "index." that is no longer written.
	require.Regexp(t, `^docker\.[a-z]+/library/rowrun:`+regexp.QuoteMeta(version)+`$`, index.Manifests[0].Annotations["io.containerd.image.name"])
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	decode(blob(index.Manifests[0]), &manifest)
	require.Equal(t, "application/vnd.oci.image.config.v1+json", manifest.Config.MediaType)
	var docker []struct {
		Config           string
		RepoTags, Layers []string
	}
	decode("manifest.json", &docker)
	require.Equal(t, blob(manifest.Config), docker[0].Config)
	require.Equal(t, []string{"rowrun:" + version}, docker[0].RepoTags)
	var config imageConfig
	decode(blob(manifest.Config), &config)
	require.Equal(t, []string{"linux", runtime.GOARCH, "65532:65532"}, []string{config.OS, config.Architecture, config.Config.User})
	require.Equal(t, version, config.Config.Labels["org.opencontainers.image.version"])
	require.Equal(t, []string{"CMD", "/usr/bin/rowrun", "healthcheck"}, config.Config.Healthcheck.Test)

	root := rootDir(t)
	for i, layer := range manifest.Layers {
		require.Equal(t, "application/vnd.oci.image.layer.v1.tar+gzip", layer.MediaType)
		require.Equal(t, blob(layer), docker[0].Layers[i])
		packed, err := gzip.NewReader(bytes.NewReader(files[blob(layer)].data))
		require.NoError(t, err)
		unpack(t, tree(t, packed), root)
	}
	authorities, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(authorities))
	require.Greater(t, bytes.Count(authorities, []byte("BEGIN CERTIFICATE")), 100)
	zone, err := os.ReadFile(filepath.Join(root, "usr/share/zoneinfo/Europe/Zurich"))
	require.NoError(t, err)
	_, err = time.LoadLocationFromTZData("Europe/Zurich", zone)
	require.NoError(t, err)
	tmp, err := os.Stat(filepath.Join(root, "tmp"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o777)|os.ModeSticky|os.ModeDir, tmp.Mode())

	const id = 65532
	out, err := inside(t.Context(), root, id, config.Config.Env, append(config.Config.Entrypoint, "version", "-o", "json")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), `"v`+version+`"`)
	variables := append(config.Config.Env, "DATABASE_URL="+overTCP(t), "ROWRUN_HTTP_ADDR="+freeAddr(t))
	serveInside(t, root, id, variables, append(config.Config.Entrypoint, config.Config.Cmd...)...)
}
