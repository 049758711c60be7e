package store

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextsAreMadeToFit(t *testing.T) {
	t.Parallel()
	latin1 := encodingOf("LATIN1")
	can := func(r rune) bool {
		_, err := latin1.NewEncoder().String(string(r))
		return err == nil
	}
	for _, c := range []struct {
		can        held
		text, want string
	}{
		{nil, `{"a":"\u0000 é"}`, `{"a":"\u0000 é"}`},
		{can, `{"a":"café 日本"}`, `{"a":"café \\u{65e5}\\u{672c}"}`},
		{can, `{"a":"caf\u00e9 \u65e5 \\u65e5 \n\""}`, `{"a":"café \\u{65e5} \\u65e5 \n\""}`},
		{can, `"\ud83d\ude00\ud83d \ude00x\u0041"`, `"\\u{1f600}\\u{d83d} \\u{de00}x\u0041"`},
		{can, `"\u0000"`, `"\\u{0}"`},
		{heldByAll, `"\u2028 \u00e9 日"`, `"` + "\u2028" + ` é 日"`},
		{heldAsASCII, `"é\u00e9"`, `"\\u{e9}\\u{e9}"`},
		{can, `\`, `\`},
	} {
		got := fitJSON(c.text, c.can)
		require.Equal(t, c.want, got)
		require.Equal(t, json.Valid([]byte(c.text)), json.Valid([]byte(got)), got)
	}
	require.Nil(t, (&Store{}).holds())
}
