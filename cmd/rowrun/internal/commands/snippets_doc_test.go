package commands

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/replica"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

const root = "../../../../"

// snippet is a block of a page in a language, and the reason why no test runs it, from the comment above it.
type snippet struct{ page, language, text, notRun string }

func snippets(t *testing.T) (all []snippet) {
	t.Helper()
	pages, err := filepath.Glob(root + "docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, path := range append(pages, root+"README.md") {
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile("(?sm)(?:^<!-- not run: ([^\n]*) -->\n)?^```(\\w+)\n(.*?)^```").FindAllStringSubmatch(string(page), -1) {
			all = append(all, snippet{filepath.Base(path), m[2], m[3], m[1]})
		}
	}
	return all
}

// elsewhere are pages whose blocks in a language have tests of their own, which say what comes of them.
func (s *snippet) elsewhere() bool {
	switch s.language {
	case "sql":
		return s.page == "app.md" || s.page == "plans.md" || s.page == "idempotency.md" || s.page == "workers.md"
	case "go":
		return slices.Contains([]string{"app.md", "idempotency.md", "embedding.md", "webhooks.md", "go.md", "go-testing.md"}, s.page)
	case "yaml":
		return s.page == "plans.md"
	case "python", "js", "java", "prisma", "bash":
		return s.page == "app.md" || s.page == "webhooks.md" || s.page == "workers.md"
	default:
		return s.language == "mermaid" || s.language == "json" && s.page == "webhooks.md"
	}
}

// Each block of README and docs is run by a test, or says why it isn't.
func TestSnippetsOfThePages(t *testing.T) {
	t.Parallel()
	targets, err := os.ReadFile(root + "Makefile")
	require.NoError(t, err)
	byPage := map[string]string{}
	for _, s := range snippets(t) {
		switch {
		case s.notRun != "" || s.elsewhere():
		case s.language == "sql":
			byPage[s.page] += s.text + ";\n"
		case s.language == "yaml":
			_, err := replica.ReadFile(rowruntest.ConfigFile(t, s.text))
			require.NoError(t, err, "%s:\n%s", s.page, s.text)
		case s.language == "sh":
			for line := range strings.Lines(s.text) {
				checkLine(t, s.page, line, string(targets))
			}
		default:
			require.Fail(t, "no test runs this", "%s, %s:\n%s", s.page, s.language, s.text)
		}
	}
	for page, text := range byPage {
		url := storetest.New(t)
		conn := rowruntest.Connect(t, url)
		rowruntest.Change(t, conn, `SET search_path = rowrun, public; SELECT define_task('report', 'HTTP', '{"path": "/"}'),
			define_task('import', 'HTTP', '{"path": "/"}'), define_task('poll', 'NOOP'), define_task('bookkeeping', 'NOOP')`)
		for _, role := range regexp.MustCompile(`(?m)^GRANT .* TO (\w+);`).FindAllStringSubmatch(text, -1) {
			own := pgx.Identifier{role[1] + conn.Config().Database[len(conn.Config().Database)-9:]}.Sanitize()
			if strings.Contains(text, " TO "+role[1]+";") {
				text = strings.ReplaceAll(text, " TO "+role[1]+";", " TO "+own+";")
				rowruntest.Change(t, conn, `CREATE ROLE `+own)
			}
		}
		for range map[bool]int{true: 2, false: 1}[page == "README.md"] { // its blocks can be pasted twice
			psql := exec.CommandContext(t.Context(), "psql", "-X", "-q", "-o", os.DevNull, "-v", "ON_ERROR_STOP=1", "-d", url)
			psql.Env = append(os.Environ(), "PGOPTIONS=-csearch_path=rowrun,public")
			psql.Stdin = strings.NewReader(text)
			out, err := psql.CombinedOutput()
			require.NoError(t, err, "%s: %s", page, out)
		}
	}
}

// checkLine holds a line of a shell against what there is: commands and flags of this program, targets of the Makefile.
// Other programs aren't run.
func checkLine(t *testing.T, page, line, targets string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " #")
	for _, part := range regexp.MustCompile(`;|&&|\|`).Split(line, -1) {
		words := shellWords(part)
		if len(words) > 1 && words[0] == "make" && regexp.MustCompile(`^[a-z-]+$`).MatchString(words[1]) {
			require.Contains(t, targets, "\n"+words[1]+":", "%s: %s", page, line)
		}
		if len(words) < 2 || words[0] != "rowrun" {
			continue
		}
		cmd, rest, err := Root(cli.Environment{Lookup: os.LookupEnv}).Find(words[1:])
		require.NoError(t, err, "%s: %s", page, line)
		require.True(t, cmd.Runnable(), "%s: %s", page, line)
		require.NoError(t, cmd.ParseFlags(rest), "%s: %s", page, line)
		require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), "%s: %s", page, line)
	}
}

// shellWords splits at spaces outside of quotes, and leaves redirections out.
func shellWords(line string) (words []string) {
	for _, word := range regexp.MustCompile(`(?:[^\s"']|"[^"]*"|'[^']*')+`).FindAllString(line, -1) {
		if strings.ContainsAny(word[:1], "<>") {
			break
		}
		words = append(words, strings.NewReplacer(`"`, "", `'`, "").Replace(word))
	}
	return words
}
