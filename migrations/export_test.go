package migrations

import "io/fs"

// Embedded is what the build took in; the files on disk may be newer.
func Embedded() fs.FS { return embedded }
