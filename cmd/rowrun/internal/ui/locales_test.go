package ui_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/statuses"
)

// categories of plurals that a language's texts must have; a rarer one, as the "many" of Spanish, falls back to other.
var categories = map[string][]string{"en": {"one", "other"}, "es": {"one", "other"}, "zh-CN": {"other"}, "ja": {"other"}, "vi": {"other"}} //nolint:gochecknoglobals // a table

var placeholder = regexp.MustCompile(`\{\w+\}`)

func texts(t *testing.T, locale string) map[string]any {
	t.Helper()
	content, err := os.ReadFile("assets/locales/" + locale + ".json")
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(content, &all))
	return all
}

func TestLocalesHaveTheSameKeysPlaceholdersAndPlurals(t *testing.T) {
	t.Parallel()
	english := texts(t, "en")
	files, err := os.ReadDir("assets/locales")
	require.NoError(t, err)
	require.Len(t, files, len(categories))
	for locale, wanted := range categories {
		own := texts(t, locale)
		require.Equal(t, slices.Sorted(maps.Keys(english)), slices.Sorted(maps.Keys(own)), locale)
		for key, value := range own {
			forms, plural := value.(map[string]any)
			_, should := english[key].(map[string]any)
			require.Equal(t, should, plural, "%s: %s", locale, key)
			if !plural {
				require.NotEmpty(t, value, "%s: %s", locale, key)
				require.Equal(t, holders(english[key]), holders(value), "%s: %s", locale, key)
				continue
			}
			require.Equal(t, wanted, slices.Sorted(maps.Keys(forms)), "%s: %s", locale, key)
			require.Equal(t, holders(english[key].(map[string]any)["other"]), holders(forms["other"]), "%s: %s", locale, key)
		}
	}
}

func holders(text any) []string {
	found := placeholder.FindAllString(text.(string), -1)
	slices.Sort(found)
	return found
}

func TestEveryKeyOfTheScriptsIsThereAndUsed(t *testing.T) {
	t.Parallel()
	english := texts(t, "en")
	var all strings.Builder
	each(t, ".js", func(name string, content []byte) {
		if !strings.HasPrefix(name, "libs/") {
			all.Write(content)
		}
	})
	script := all.String()
	for _, found := range regexp.MustCompile(`\bt\('([a-z_]+\.[\w.]+)'`).FindAllStringSubmatch(script, -1) {
		require.NotNil(t, english[found[1]], "%s has no text", found[1])
	}
	for key := range english {
		prefix := key[:strings.LastIndexByte(key, '.')+1]
		group := key[:strings.IndexByte(key, '.')+1]
		used := strings.Contains(script, "'"+key+"'") || strings.Contains(script, "`"+prefix+"${") || strings.Contains(script, "`"+group+"${") || strings.Contains(script, "`act.says.${")
		require.True(t, used, "no script says %s", key)
	}
	for _, look := range statuses.All() {
		require.Equal(t, look.Name, english["status."+look.Status], "the table's name")
	}
}
