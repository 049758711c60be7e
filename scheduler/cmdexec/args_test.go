//go:build linux

package cmdexec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/scheduler"
)

func TestConfigurationIsCheckedAndTheCommandNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	for want, c := range map[string]Command{
		"absolute path":                {Path: "sh"},
		"no such file":                 {Path: filepath.Join(dir, "none")},
		"not an executable":            {Path: plain},
		"not an executable file":       {Path: dir},
		"{name}":                       {Path: "/bin/sh", Args: []string{"{a"}},
		"want {name} of letters":       {Path: "/bin/sh", Args: []string{"{a b}"}},
		"{{ for a brace":               {Path: "/bin/sh", Args: []string{`{"a":1}`}},
		"}} for a brace":               {Path: "/bin/sh", Args: []string{"a}"}},
		"NUL":                          {Path: "/bin/sh", Args: []string{"a\x00"}},
		"no argument has {b}":          {Path: "/bin/sh", Args: []string{"{a}"}, Types: map[string]string{"b": "int"}},
		"want string, int, number":     {Path: "/bin/sh", Args: []string{"{a}"}, Types: map[string]string{"a": "integer"}},
		"enum:a|b|c":                   {Path: "/bin/sh", Args: []string{"{a}"}, Types: map[string]string{"a": "enum:a||b"}},
		"directory":                    {Path: "/bin/sh", Dir: "relative"},
		"absolute path of a directory": {Path: "/bin/sh", Dir: plain},
		"env \"A=\"":                   {Path: "/bin/sh", Env: map[string]string{"A=": ""}},
		"the sidecar's":                {Path: "/bin/sh", Env: map[string]string{"ROWRUN_RUN_ID": "1"}},
		"the value has a NUL":          {Path: "/bin/sh", Env: map[string]string{"A": "\x00"}},
	} {
		_, err := New(Config{Commands: map[string]Command{"report": c}})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, `command "report"`)
	}
	_, err := New(Config{Grace: -time.Second})
	require.Error(t, err)
	_, err = New(Config{Commands: map[string]Command{"": {Path: "/bin/sh"}}})
	require.Error(t, err)
	e, err := New(Config{Commands: map[string]Command{"b": {Path: "/bin/sh"}, "a": {Path: "/bin/sh"}}})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, e.Names())
}

func TestValuesTakeTheirPlacesUnchanged(t *testing.T) {
	t.Parallel()
	c, err := newCommand(Command{
		Path: "/bin/sh",
		Args: []string{"plain", "--day={day}", "{n}:{x}", "{{{s}}}", "{{s}}", "{on}", "{kind}", "{id}", "{at}", "", "--", "{s}"},
		Types: map[string]string{
			"day": "date", "n": "int", "x": "number", "on": "bool", "kind": "enum:a|-b", "id": "uuid", "at": "timestamp",
		},
	})
	require.NoError(t, err)
	argv, err := c.argv([]byte(`{"day":"2024-02-29","n":-5,"x":-1.5e3,"s":"-$(id) 'ü' \"*","on":true,"kind":"-b",
		"id":"0190163d-8694-739b-aea5-966c26f8ad91","at":"2026-11-21T09:00:00.5+01:00"}`))
	require.NoError(t, err)
	s := `-$(id) 'ü' "*`
	require.Equal(t, []string{
		"/bin/sh", "plain", "--day=2024-02-29", "-5:-1.5e3", "{" + s + "}", "{s}", "true", "-b",
		"0190163d-8694-739b-aea5-966c26f8ad91", "2026-11-21T09:00:00.5+01:00", "", "--", s,
	}, argv)
}

func TestWrongValuesAreBadInputAndNamed(t *testing.T) {
	t.Parallel()
	wrong := map[string][]string{
		"string":    {`1`, `null`, `true`, `[]`, `{}`, `"a\u0000b"`, `"-x"`, `"--output=/etc/passwd"`},
		"int":       {`"1"`, `1.5`, `1.0`, `1e3`, `9223372036854775808`, `null`, `true`},
		"number":    {`"1"`, `null`, `true`, `[1]`},
		"bool":      {`"true"`, `1`, `null`},
		"date":      {`"2026-02-30"`, `"2026-2-3"`, `"today"`, `"2026-01-01T00:00:00Z"`, `20260101`, `""`},
		"timestamp": {`"2026-01-01"`, `"2026-01-01T00:00:00"`, `"2026-01-01 00:00:00Z"`, `"2026-01-01T0:00:00Z"`, `"2026-01-01T00:00:00,5Z"`, `1`},
		"uuid":      {`"x"`, `"0190163d8694739baea5966c26f8ad91"`, `"{190163d-8694-739b-aea5-966c26f8ad91}"`, `"0190163d-8694-739b-aea5-966c26f8ad9g"`, `1`},
		"enum:a|b":  {`"c"`, `""`, `"A"`, `1`},
	}
	for kind, values := range wrong {
		c, err := newCommand(Command{Path: "/bin/sh", Args: []string{"{v}"}, Types: map[string]string{"v": kind}})
		require.NoError(t, err)
		for _, v := range values {
			_, err := c.argv([]byte(`{"v":` + v + `}`))
			require.Error(t, err, "%s %s", kind, v)
			f := failure(t, err)
			require.Equal(t, scheduler.CodeBadInput, f.Code)
			require.Contains(t, f.Detail, "args.v: ", "%s %s", kind, v)
		}
	}
}

func TestAStringCannotBecomeAnOption(t *testing.T) {
	t.Parallel()
	for args, ok := range map[string]bool{
		"{s}": false, "{s}.txt": false, "{empty}{s}": false, "x{s}": true, "--file={s}": true, "-- {s}": true, "-- x {s}": true, "{s} --": false,
	} {
		c, err := newCommand(Command{Path: "/bin/sh", Args: append(strings.Fields(args), "{empty}", "{s2}")})
		require.NoError(t, err)
		_, err = c.argv([]byte(`{"s":"-rf","empty":"","s2":"fine"}`))
		if strings.Contains(args, "{s}") && !ok {
			require.Equal(t, scheduler.CodeBadInput, failure(t, err).Code, args)
			continue
		}
		require.NoError(t, err, args)
	}
}

func TestWrongPayloadsAreBadInput(t *testing.T) {
	t.Parallel()
	e := executor(t, Command{Path: "/bin/false", Args: []string{"{a}"}}, 0)
	for payload, want := range map[string]string{
		`[]`: "JSON object", `null`: "JSON object", `{}`: `no "command"`, `{"Command":"c"}`: `no "command"`,
		`{"command":1}`: "must be a string", `{"command":null}`: "must be a string", `{"command":"d"}`: `"d" is not configured`,
		`{"command":"c"}`: "args.a is missing", `{"command":"c","args":{}}`: "args.a is missing",
		`{"command":"c","args":null}`: "must be an object", `{"command":"c","args":["x"]}`: "must be an object",
		`{"command":"c","args":{"a":"x","b":"y"}}`: "args.b: the command has no such argument",
	} {
		_, err := e.Execute(t.Context(), (&recorder{}).run(payload))
		f := failure(t, err)
		require.Equal(t, scheduler.CodeBadInput, f.Code, payload)
		require.False(t, f.Retryable)
		require.Contains(t, f.Detail, want, payload)
	}
}

func FuzzArguments(f *testing.F) {
	f.Add("{a}", `{"a":"x"}`)
	f.Add("--a={a}{b}", `{"a":"-","b":null}`)
	f.Add("{{a}}", `[]`)
	f.Fuzz(func(t *testing.T, arg, args string) {
		c, err := newCommand(Command{Path: "/bin/sh", Args: []string{arg}})
		if err != nil {
			return
		}
		argv, err := c.argv([]byte(args))
		if err != nil {
			require.Equal(t, scheduler.CodeBadInput, failure(t, err).Code)
			return
		}
		require.Len(t, argv, 2)
		require.NotContains(t, argv[1], "\x00")
		if strings.HasPrefix(argv[1], "-") {
			require.True(t, strings.HasPrefix(arg, "-"), "%q became %q", arg, argv[1])
		}
	})
}
