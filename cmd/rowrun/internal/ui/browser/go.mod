module github.com/rowrun/rowrun/cmd/rowrun/internal/ui/browser

go 1.26.0

require github.com/rowrun/rowrun v0.0.0

replace github.com/rowrun/rowrun => ../../../../..
