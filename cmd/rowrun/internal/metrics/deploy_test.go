package metrics_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/rowrun/rowrun/notifier"
	"github.com/rowrun/rowrun/store/storetest"
)

const (
	root      = "../../../.."
	rulesFile = root + "/deploy/prometheus/rowrun.rules.yml"
	testsFile = root + "/deploy/prometheus/rowrun.rules.test.yml"
	boardFile = root + "/deploy/grafana/rowrun.json"
	guideFile = root + "/docs/operations.md"
	// runbook is what the address of a section of a document begins with.
	runbook = "https://github.com/rowrun/rowrun/blob/main/"
)

func text(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

type rule struct {
	Alert, Expr string
	Labels      map[string]string
	Annotations map[string]string
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	require.NoError(t, yaml.Unmarshal([]byte(text(t, rulesFile)), &file))
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

type dashboard struct {
	Templating struct {
		List []struct {
			Name, Type, Definition string
			Multi                  bool
		}
	}
	Panels []panel
}

type panel struct {
	Title      string
	Datasource struct{ UID string }
	Targets    []struct{ Expr, LegendFormat string }
	Panels     []panel // of a row
}

func board(t *testing.T) (d dashboard, panels []panel) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text(t, boardFile)), &d))
	var walk func(some []panel)
	walk = func(some []panel) {
		for _, p := range some {
			if len(p.Panels) == 0 {
				panels = append(panels, p)
			}
			walk(p.Panels)
		}
	}
	walk(d.Panels)
	require.Greater(t, len(panels), 20)
	return d, panels
}

// metricName is a regular expression.
const metricName = `\b(?:rowrun|go|process)_[a-z0-9_]+`

// exported is what a scrape of a replica has that has a slot.
func exported(t *testing.T) string {
	t.Helper()
	url := storetest.New(t)
	storetest.AddStreamSlot(t, url)
	return scrape(t, newMetrics(t, url))
}

// What dashboards and alerts ask for is what there is.
func TestDashboardAndAlertsUseWhatIsExported(t *testing.T) {
	t.Parallel()
	var expressions []string
	metric := regexp.MustCompile(metricName)
	for _, r := range rules(t) {
		if strings.HasPrefix(r.Expr, "up{") { // Prometheus's own
			require.Empty(t, metric.FindAllString(r.Expr, -1))
			continue
		}
		expressions = append(expressions, r.Expr)
	}
	_, panels := board(t)
	for _, p := range panels {
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			expressions = append(expressions, target.Expr)
		}
	}
	there := exported(t)
	for _, expression := range expressions {
		names := metric.FindAllString(expression, -1)
		require.NotEmpty(t, names, expression)
		for _, n := range names {
			require.Regexp(t, `(?m)^`+n+`[{ ]`, there, expression)
		}
	}
}

// Each replica tells the same of its database, and one Prometheus may watch several deployments.
func TestAlertsKeepDeploymentsApart(t *testing.T) {
	t.Parallel()
	aggregate := regexp.MustCompile(`\b(?:max|sum|count|min|avg)\b( by \(deployment[,)])?`)
	shared := regexp.MustCompile(`rowrun_store_[a-z_]+`)
	for _, r := range rules(t) {
		found := aggregate.FindAllStringSubmatch(r.Expr, -1)
		for _, match := range found {
			require.NotEmpty(t, match[1], "%s: %s", r.Alert, r.Expr)
		}
		for _, name := range shared.FindAllString(r.Expr, -1) {
			if name != "rowrun_store_up" { // a replica's own
				require.Contains(t, r.Expr, "max by (deployment", r.Alert)
			}
		}
		require.Contains(t, []string{"critical", "warning"}, r.Labels["severity"], r.Alert)
	}
}

// Of a dashboard's panels each shows what was chosen, and nothing else.
func TestEachPanelIsFilteredByDeploymentAndReplica(t *testing.T) {
	t.Parallel()
	d, panels := board(t)
	variables := map[string]string{}
	for _, v := range d.Templating.List {
		variables[v.Name] = v.Definition
		if v.Type == "query" {
			require.True(t, v.Multi, v.Name)
		}
	}
	require.Equal(t, map[string]string{
		"datasource": "", "deployment": "label_values(rowrun_build_info, deployment)",
		"instance": `label_values(rowrun_build_info{deployment=~"$deployment"}, instance)`,
	}, variables)
	selector := regexp.MustCompile(metricName + `(\{[^}]*\})?`)
	for _, p := range panels {
		require.Equal(t, "${datasource}", p.Datasource.UID, p.Title)
		for _, target := range p.Targets {
			found := selector.FindAllStringSubmatch(target.Expr, -1)
			require.NotEmpty(t, found)
			for _, match := range found {
				require.Contains(t, match[1], `deployment=~"$deployment"`, "%s: %s", p.Title, target.Expr)
				require.Contains(t, match[1], `instance=~"$instance"`, "%s: %s", p.Title, target.Expr)
			}
			require.Regexp(t, `\{\{(deployment|instance)\}\}`, target.LegendFormat, p.Title)
			require.NotRegexp(t, `\b(?:max|sum|count)(?: by \((?:[^d]|d[^e])|\()`, target.Expr, "%s: not by deployment", p.Title)
		}
	}
}

// anchors are those that GitHub gives the headings of a document.
func anchors(t *testing.T, path string) (all []string) {
	t.Helper()
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text(t, path), -1) {
		anchor := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(match[1])), " ", "-")
		all = append(all, regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(anchor, ""))
	}
	return all
}

// Whoever is woken by an alert finds what to do.
func TestEachAlertHasItsRunbook(t *testing.T) {
	t.Parallel()
	var names, sections []string
	for _, r := range rules(t) {
		names = append(names, r.Alert)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		path, ours := strings.CutPrefix(r.Annotations["runbook_url"], runbook)
		require.True(t, ours, r.Alert)
		file, anchor, _ := strings.Cut(path, "#")
		require.Equal(t, strings.ToLower(r.Alert), anchor)
		require.Contains(t, anchors(t, filepath.Join(root, file)), anchor, r.Alert)
	}
	for _, match := range regexp.MustCompile(`(?m)^### (Rowrun\w+)\n\n(.+)\n\n(.+)\n`).FindAllStringSubmatch(text(t, guideFile), -1) {
		sections = append(sections, match[1])
	}
	require.Equal(t, names, sections, "a section with what it means and what to do for each, in the order of the rules")
}

// Nothing is explained that isn't there.
func TestEachMetricOfTheGuideExists(t *testing.T) {
	t.Parallel()
	there, guide := exported(t), text(t, guideFile)
	named := regexp.MustCompile("`(rowrun_(?:events|notifier|scheduler|store|stream)_[a-z_]+[a-z])`").FindAllStringSubmatch(guide, -1)
	require.NotEmpty(t, named)
	for _, match := range named {
		require.Regexp(t, `(?m)^`+match[1]+`[{ ]`, there)
	}
	for _, outcome := range notifier.Outcomes() {
		require.Contains(t, guide, "`"+string(outcome)+"`")
	}
}

// promtool finds the program where .ci/ensure looks and leaves it.
func promtool(t *testing.T) string {
	t.Helper()
	unpacked, err := filepath.Abs(root + "/.tools/promtool")
	require.NoError(t, err)
	for _, candidate := range []string{os.Getenv("PROMTOOL"), "promtool", unpacked} {
		if path, err := exec.LookPath(candidate); candidate != "" && err == nil {
			return path
		}
	}
	require.Fail(t, "promtool is missing: run .ci/ensure promtool")
	return ""
}

// check runs promtool on files in a directory; what it said, and whether it was content.
func check(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), promtool(t), args...)
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// Each rule fires where it should and stays silent where it should, by Prometheus's own judgement.
func TestAlertsFireAndStaySilent(t *testing.T) {
	t.Parallel()
	var file struct {
		Tests []struct {
			Name          string
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []struct{} `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(text(t, testsFile)), &file))
	var fire, silent, names []string
	for _, group := range file.Tests {
		for _, one := range group.AlertRuleTest {
			if len(one.ExpAlerts) > 0 {
				fire = append(fire, one.Alertname)
			} else {
				silent = append(silent, one.Alertname)
			}
		}
	}
	for _, r := range rules(t) {
		names = append(names, r.Alert)
	}
	require.Subset(t, fire, names)
	require.Subset(t, silent, names)

	dir := filepath.Dir(rulesFile)
	said, err := check(t, dir, "check", "rules", filepath.Base(rulesFile))
	require.NoError(t, err, said)
	said, err = check(t, dir, "test", "rules", filepath.Base(testsFile))
	require.NoError(t, err, said)
}

// Rules that never fire, and rules that always do, fail each of their tests.
func TestTestsOfAlertsNoticeWhatIsWrong(t *testing.T) {
	t.Parallel()
	all := rules(t)
	for _, broken := range []string{"vector(0) > 1", "vector(1)"} {
		dir, lines := t.TempDir(), text(t, rulesFile)
		for _, r := range all {
			changed := strings.Replace(lines, "expr: "+r.Expr+"\n", "expr: "+broken+"\n", 1)
			require.NotEqual(t, lines, changed, r.Alert)
			lines = changed
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(rulesFile)), []byte(lines), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(testsFile)), []byte(text(t, testsFile)), 0o600))
		said, err := check(t, dir, "test", "rules", filepath.Base(testsFile))
		require.Error(t, err)
		for _, r := range all {
			require.Contains(t, said, "alertname: "+r.Alert+",", broken)
		}
	}
}
