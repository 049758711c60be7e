package migrations

import "io/fs"

// Embedded is what the build took in; the files on disk may be newer.
func Embedded() fs.FS { return embedded }

// CodeKeys are the objects of the embedded code.
func CodeKeys() (keys []string) {
	for _, o := range ours().code.objects {
		keys = append(keys, o.key())
	}
	return keys
}

// PlainCode is what SQL prints of the code of these files.
func PlainCode(fsys fs.FS) (string, error) {
	c, err := readCode(fsys)
	if err != nil {
		return "", err
	}
	return c.replacement(), nil
}
