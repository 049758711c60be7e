//go:build !linux

package measure

import "errors"

// Pin is there on Linux only.
func Pin(int, ...int) error { return errors.New("cores are chosen on Linux only") }
