package cli

import (
	"io"
	"os"
)

// IsTerminal says that what is written to w is seen by a person who hasn't asked for plain text.
func IsTerminal(w io.Writer) bool { return os.Getenv("NO_COLOR") == "" && isDevice(w) }

func isDevice(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
