//go:build !crashpoints

package notifier

// CrashPoint does nothing: only a build with the tag crashpoints can be told to die at one.
func CrashPoint(string) {}
