package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/rowrun/rowrun/store/storetest"
)

// deployed is a file of the repository's deploy.
func deployed(name string) string { return filepath.Join("../../../deploy", name) }

// schemas answer for a kind of Kubernetes.
type schemas map[string]*jsonschema.Schema

func kubernetesSchemas(t *testing.T) schemas {
	t.Helper()
	text, err := os.ReadFile("testdata/kubernetes-1.30.json")
	require.NoError(t, err)
	var named struct{ Kinds map[string]string }
	require.NoError(t, json.Unmarshal(text, &named))
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft4)
	require.NoError(t, compiler.AddResource("file:///kubernetes.json", document))
	found := schemas{}
	for kind, place := range named.Kinds {
		found[kind], err = compiler.Compile("file:///kubernetes.json" + place)
		require.NoError(t, err, kind)
	}
	return found
}

// check says what is wrong with one manifest.
func (s schemas) check(manifest map[string]any) error {
	version, _ := manifest["apiVersion"].(string)
	kind, _ := manifest["kind"].(string)
	schema, ok := s[version+"/"+kind]
	if !ok {
		return errors.New("no schema for " + version + "/" + kind)
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func manifests(t *testing.T, path string) []map[string]any {
	t.Helper()
	in, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	var all []map[string]any
	for documents := yaml.NewDecoder(in); ; {
		var one map[string]any
		err := documents.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err, path)
		all = append(all, one)
	}
}

func TestManifestsAreValid(t *testing.T) {
	t.Parallel()
	schemas := kubernetesSchemas(t)
	files, err := filepath.Glob(deployed("kubernetes/*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, path := range files {
		for _, manifest := range manifests(t, path) {
			require.NoError(t, schemas.check(manifest), "%s: %s", path, manifest["kind"])
		}
	}
	// The schemas refuse what a cluster would.
	broken := manifests(t, deployed("kubernetes/deployment.yaml"))[1]
	pod := at(broken, "spec", "template", "spec")
	pod["terminationGracePeriodSecond"] = 5
	require.ErrorContains(t, schemas.check(broken), "terminationGracePeriodSecond")
	delete(pod, "terminationGracePeriodSecond")
	pod["terminationGracePeriodSeconds"] = "75s"
	require.Error(t, schemas.check(broken))
	pod["terminationGracePeriodSeconds"] = 75
	delete(broken["spec"].(map[string]any), "selector")
	require.ErrorContains(t, schemas.check(broken), "selector")
}

// at is a map in a map.
func at(m map[string]any, path ...string) map[string]any {
	for _, name := range path {
		m, _ = m[name].(map[string]any)
	}
	return m
}

// containers are those of a pod, sidecars first.
func containers(pod map[string]any) []map[string]any {
	var all []map[string]any
	for _, list := range []string{"initContainers", "containers"} {
		some, _ := pod[list].([]any)
		for _, one := range some {
			all = append(all, one.(map[string]any))
		}
	}
	return all
}

// TestGraceIsLongerThanTheDrain holds what no schema knows.
func TestGraceIsLongerThanTheDrain(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, name := range []string{"deployment.yaml", "sidecar.yaml"} {
		all := manifests(t, deployed("kubernetes/"+name))
		for _, manifest := range all {
			if manifest["kind"] != "Deployment" {
				continue
			}
			pod := at(manifest, "spec", "template", "spec")
			require.Equal(t, at(manifest, "spec", "selector")["matchLabels"], at(manifest, "spec", "template", "metadata")["labels"], name)
			for _, other := range all { // the budget and the policy are for these pods
				for _, selector := range []map[string]any{at(other, "spec", "selector"), at(other, "spec", "podSelector")} {
					if selector != nil {
						require.Equal(t, at(manifest, "spec", "selector"), selector, other["kind"])
					}
				}
			}
			for _, c := range containers(pod) {
				require.Equal(t, true, at(c, "securityContext")["readOnlyRootFilesystem"])
				if c["name"] != "rowrun" {
					continue
				}
				looked++
				drain := drainOf(t, c["args"].([]any))
				grace := time.Duration(pod["terminationGracePeriodSeconds"].(int)) * time.Second
				require.GreaterOrEqual(t, grace, drain+15*time.Second, name)
				checkProbes(t, c)
				if name == "sidecar.yaml" {
					require.Equal(t, "Always", c["restartPolicy"])
					app := containers(pod)[1]
					wait := at(app, "lifecycle", "preStop", "sleep")["seconds"].(int)
					require.Greater(t, time.Duration(wait)*time.Second, drain, "the app answers while the sidecar drains")
				}
			}
		}
	}
	require.Equal(t, 2, looked)
}

func drainOf(t *testing.T, args []any) time.Duration {
	t.Helper()
	for i, arg := range args {
		if arg == "--drain-timeout" {
			drain, err := time.ParseDuration(args[i+1].(string))
			require.NoError(t, err)
			return drain
		}
	}
	require.FailNow(t, "no --drain-timeout")
	return 0
}

// checkProbes: each asks a port that the container has.
func checkProbes(t *testing.T, c map[string]any) {
	t.Helper()
	ports := map[any]bool{}
	for _, port := range c["ports"].([]any) {
		ports[port.(map[string]any)["name"]] = true
	}
	for probe, path := range map[string]string{"livenessProbe": "/livez", "readinessProbe": "/readyz"} {
		get := at(c, probe, "httpGet")
		require.Equal(t, path, get["path"])
		require.True(t, ports[get["port"]], "%s asks port %s", probe, get["port"])
	}
}

func TestComposeFileIsRead(t *testing.T) {
	t.Parallel()
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		ConfigFiles: []types.ConfigFile{{Filename: deployed("compose/compose.yaml")}},
		Environment: types.Mapping{"ROWRUN_VERSION": "0.1.0", "OWNER_PASSWORD": "a", "SIDECAR_PASSWORD": "b"},
	})
	require.NoError(t, err)
	replica := project.Services["rowrun"]
	require.Equal(t, "rowrun:0.1.0", replica.Image)
	var args []any
	for _, arg := range replica.Command {
		args = append(args, arg)
	}
	require.Greater(t, time.Duration(*replica.StopGracePeriod), drainOf(t, args))
	require.Equal(t, "postgres://rowrun_sidecar:b@db:5432/app", *replica.Environment["DATABASE_URL"])
}

// TestComposeMakesTheSidecarsRole runs the script that stands in the file, twice.
func TestComposeMakesTheSidecarsRole(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t) // a role is its server's
	database := strings.TrimPrefix(must(url.Parse(storetest.On(t, cluster))).Path, "/")
	owner := must(url.Parse(cluster.URL(database)))
	secret, _ := owner.User.Password()
	project := must(loader.LoadWithContext(t.Context(), types.ConfigDetails{
		ConfigFiles: []types.ConfigFile{{Filename: deployed("compose/compose.yaml")}},
		Environment: types.Mapping{"ROWRUN_VERSION": "0.1.0", "OWNER_PASSWORD": secret, "SIDECAR_PASSWORD": "s1decar"},
	}))
	service := project.Services["roles"]
	script := strings.Replace(service.Command[0], "-h db -U owner -d app", "-h 127.0.0.1 -p "+owner.Port()+" -U "+owner.User.Username()+" -d "+database, 1)
	require.NotContains(t, script, "-h db")
	for range 2 {
		run := exec.CommandContext(t.Context(), service.Entrypoint[0], append(service.Entrypoint[1:], script)...)
		run.Env = []string{"PATH=" + os.Getenv("PATH")}
		for name, value := range service.Environment {
			run.Env = append(run.Env, name+"="+*value)
		}
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	owner.User = url.UserPassword("rowrun_sidecar", "s1decar")
	out, err := exec.CommandContext(t.Context(), "psql", "-X", "-At", "-d", owner.String(), "-c", "SELECT pg_has_role('rowrun_replica', 'MEMBER')").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "t\n", string(out))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// unit is what a line of the unit says.
func unit(t *testing.T, key string) string {
	t.Helper()
	text, err := os.ReadFile(deployed("systemd/rowrun.service"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			return value
		}
	}
	require.FailNow(t, "the unit has no "+key)
	return ""
}

// TestUnitIsValidAndConfined asks systemd's own tools.
func TestUnitIsValidAndConfined(t *testing.T) {
	t.Parallel()
	stop, err := strconv.Atoi(unit(t, "TimeoutStopSec"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, stop, 30+15, "what a stop may take behind --drain-timeout")
	watchdog, err := strconv.Atoi(unit(t, "WatchdogSec"))
	require.NoError(t, err)
	require.Greater(t, watchdog, 60, "more than a lease")
	require.Equal(t, "notify", unit(t, "Type"))

	root := t.TempDir() // the unit with a program that is there
	for path, mode := range map[string]os.FileMode{"usr/bin/rowrun": 0o755, "etc/systemd/system/rowrun.service": 0o644} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755))
		text, err := os.ReadFile(deployed("systemd/rowrun.service"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(root, path), text, mode))
	}
	path := filepath.Join(root, "etc/systemd/system/rowrun.service")
	program := filepath.Join(root, "usr/bin/rowrun")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(text, []byte("/usr/bin/rowrun"), []byte(program)), 0o600))
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "rowrun.service", "systemd has nothing to say about it")
	out, err = exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", path).CombinedOutput()
	require.NoError(t, err, "exposed more than 2.0 of 10:\n%s", out)
}
