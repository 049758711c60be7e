package cli

import "strings"

// Quoted makes one word of text for a shell.
func Quoted(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ShellWord makes any text one word of a shell's command line, and none that ends it: what stands in rows is written by who
// may insert, and read by who is about to paste it.
func ShellWord(name string) string {
	if strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0 && name != "" {
		return name
	}
	return Quoted(name)
}
