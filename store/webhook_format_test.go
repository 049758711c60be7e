package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

const (
	hostileName   = "<!channel> @everyone <@U1> *b* [x](https://evil.example) <at>all</at> {{DATE(2020-01-01T00:00:00Z)}} `c` # & \"q\" \\"
	hostileDetail = "line one\n# line two\t<https://evil.example|click> @here ||spoiler|| \x01 \u202e 名前"
)

// bodies are what webhooks of each format are told when a plan's task with a hostile name and detail fails.
func bodies(t *testing.T, conn *pgx.Conn) (plan int64, of map[string]string) {
	t.Helper()
	plan, tasks := newPlan(t, conn, hostileName)
	exec(t, conn, `DELETE FROM rowrun.webhook`)
	exec(t, conn, `INSERT INTO rowrun.webhook (url, format) SELECT 'https://example.com', unnest('{standard,slack,teams,discord,cloudevents}'::text[])`)
	require.Equal(t, "FAILED", query[string](t, conn, endOne, began(t, conn, tasks[0]), "FAILED", hostileDetail))
	rows, err := conn.Query(t.Context(), `SELECT w.format, d.payload FROM rowrun.webhook_delivery d JOIN rowrun.webhook w ON w.id = d.webhook_id WHERE d.plan_id = $1`, plan)
	require.NoError(t, err)
	of = map[string]string{}
	var format, body string
	_, err = pgx.ForEachRow(rows, []any{&format, &body}, func() error {
		of[format] = body
		return nil
	})
	require.NoError(t, err)
	require.Len(t, of, 5)
	return plan, of
}

func TestHostileTextsAreTextInEveryFormat(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	plan, of := bodies(t, conn)

	t.Run("slack", func(t *testing.T) {
		require.NotContains(t, of["slack"], "<")
		require.NotContains(t, of["slack"], "@e")
		var body struct {
			Text   string
			Blocks []struct {
				Type string
				Text struct {
					Type, Text string
					Emoji      *bool
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(of["slack"]), &body))
		require.True(t, strings.HasPrefix(body.Text, "Pipeline failed - Task &lt;!channel&gt; @\u200beveryone"), body.Text)
		require.GreaterOrEqual(t, len(body.Blocks), 3)
		for _, block := range body.Blocks {
			if block.Type == "section" {
				require.Equal(t, "plain_text", block.Text.Type, "no markup is read")
				require.False(t, *block.Text.Emoji)
				require.LessOrEqual(t, utf8.RuneCountInString(block.Text.Text), 3000)
				require.NotContains(t, block.Text.Text, "\n")
			}
		}
	})
	t.Run("teams", func(t *testing.T) {
		var body struct {
			Type        string
			Attachments []struct {
				ContentType string
				Content     struct {
					Type, Version string
					Body          []struct {
						Type    string
						Inlines []struct{ Type, Text string }
					}
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(of["teams"]), &body))
		require.Equal(t, "message", body.Type)
		require.Len(t, body.Attachments, 1)
		require.Equal(t, "application/vnd.microsoft.card.adaptive", body.Attachments[0].ContentType)
		require.Equal(t, "AdaptiveCard", body.Attachments[0].Content.Type)
		require.Len(t, body.Attachments[0].Content.Body, 3)
		for _, block := range body.Attachments[0].Content.Body {
			require.Equal(t, "RichTextBlock", block.Type, "no markup is read")
			require.Equal(t, "TextRun", block.Inlines[0].Type)
		}
		require.NotContains(t, of["teams"], "{{DATE")
		require.NotContains(t, of["teams"], `"entities"`)
	})
	t.Run("discord", func(t *testing.T) {
		var body struct {
			Content         *string
			AllowedMentions struct{ Parse []string } `json:"allowed_mentions"`
			Embeds          []struct {
				Title, Description string
				Color              int
			}
		}
		require.NoError(t, json.Unmarshal([]byte(of["discord"]), &body))
		require.Nil(t, body.Content)
		require.Equal(t, []string{}, body.AllowedMentions.Parse)
		require.Len(t, body.Embeds, 1)
		require.LessOrEqual(t, utf8.RuneCountInString(body.Embeds[0].Title), 256)
		require.LessOrEqual(t, utf8.RuneCountInString(body.Embeds[0].Description), 4096)
		for _, text := range []string{body.Embeds[0].Title, body.Embeds[0].Description} {
			for i, r := range text { // each sign of markup stands behind a backslash of ours
				if strings.ContainsRune("*_~`|>#()<@:!+.[]{}&-", r) {
					require.Equal(t, byte('\\'), text[i-1], "%q at %d", text, i)
				}
			}
		}
	})
	t.Run("cloudevents", func(t *testing.T) {
		var body struct {
			SpecVersion, ID, Source, Type, Subject, Time, DataContentType string
			Data                                                          json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(of["cloudevents"]), &body))
		require.Equal(t, "1.0", body.SpecVersion)
		require.Equal(t, "com.github.rowrun.PIPELINE_FAILED", body.Type)
		require.Regexp(t, `^urn:uuid:[0-9a-f-]{36}$`, body.Source)
		require.Equal(t, fmt.Sprintf("plans/%d", plan), body.Subject)
		require.Equal(t, "application/json", body.DataContentType)
		require.Equal(t, 1, query[int](t, conn, `SELECT count(*) FROM rowrun.webhook_delivery WHERE message_id = $1 AND content_type = 'application/cloudevents+json; charset=utf-8'`, body.ID))
		var standard struct{ Data json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(of["standard"]), &standard))
		require.JSONEq(t, strings.ReplaceAll(string(standard.Data), " ", " "), string(body.Data))
	})
}

// However many tasks failed, and however long what they said, a chat gets a few lines that it takes.
func TestChatsGetFewLines(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	failed := query[string](t, conn, `SELECT jsonb_agg(jsonb_build_object('task_id', n, 'name', repeat('*', 200), 'run_id', n, 'detail', repeat('&', 2000)))::text FROM generate_series(1, 20) n`)
	standard := `{"type":"PIPELINE_FAILED","timestamp":"2026-11-21T09:00:00Z","data":{"project":"shop","plan_id":7,"plan":"` + strings.Repeat("_", 300) +
		`","message":"` + strings.Repeat("#", 500) + `","failed_task_count":1000,"failed_tasks":` + failed + `}}`
	for _, format := range []string{"slack", "teams", "discord"} {
		body := query[string](t, conn, `SELECT rowrun.webhook_body($1, 'msg_1', $2, 'https://rowrun.example')`, format, standard)
		require.True(t, json.Valid([]byte(body)), format)
		require.Less(t, len(body), 20_000, format)
		require.Contains(t, body, "https://rowrun.example/plans/7", "a link where the dashboard is known")
		require.Contains(t, body, "996 more", format)
		if format == "discord" {
			var sent struct {
				Embeds []struct{ Title, Description string }
			}
			require.NoError(t, json.Unmarshal([]byte(body), &sent))
			require.LessOrEqual(t, utf8.RuneCountInString(sent.Embeds[0].Title), 256)
			require.LessOrEqual(t, utf8.RuneCountInString(sent.Embeds[0].Description), 4096)
		}
	}
}

// Signs of markup that are escaped, and braces without end, make no text longer or other than a chat takes it.
func TestChatsTakeTheLongestAndTheOddest(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	body := func(format string, count, listed int, detail string) string {
		failed := query[string](t, conn, `SELECT jsonb_agg(jsonb_build_object('task_id', n, 'name', repeat('*', 200), 'run_id', n, 'detail', $2::text))::text FROM generate_series(1, $1::int) n`, listed, detail)
		return query[string](t, conn, `SELECT rowrun.webhook_body($1, 'msg_1', $2, '')`, format,
			fmt.Sprintf(`{"type":"PIPELINE_FAILED","data":{"plan_id":7,"plan":"%s","message":"%s","failed_task_count":%d,"failed_tasks":%s}}`,
				strings.Repeat("_", 300), strings.Repeat("#", 500), count, failed))
	}
	var discord struct {
		Embeds []struct{ Title, Description string }
	}
	require.NoError(t, json.Unmarshal([]byte(body("discord", 5, 5, strings.Repeat("*", 2000))), &discord))
	require.LessOrEqual(t, utf8.RuneCountInString(discord.Embeds[0].Title), 256)
	require.LessOrEqual(t, utf8.RuneCountInString(discord.Embeds[0].Description), 4096)
	for _, line := range strings.Split(discord.Embeds[0].Description, "\n") {
		require.Regexp(t, `^(\\.|[^\\])*$`, line, "no escape is cut in two")
	}

	for _, c := range []struct {
		count, listed int
		more          string
	}{{5, 5, ""}, {6, 5, "and 2 more"}, {6, 6, "and 2 more"}, {10, 3, "and 7 more"}, {5, 4, "and 1 more"}, {5, 1, "and 4 more"}, {1, 1, ""}} {
		text := body("slack", c.count, c.listed, "why")
		if c.more == "" {
			require.NotContains(t, text, " more")
		} else {
			require.Contains(t, text, `"`+c.more+`"`, "%d of %d are in the message", c.listed, c.count)
		}
	}

	require.NotContains(t, strings.ReplaceAll(body("teams", 1, 1, "{{{DATE(2020-01-01T00:00:00Z)}} {{{{x"), `": {"`, ""), "{{")
}
