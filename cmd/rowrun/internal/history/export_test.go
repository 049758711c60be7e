package history

// ErrSlow says that lines were overwritten before the reader came to them.
var ErrSlow = errSlow
