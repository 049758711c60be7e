// Package ui is the dashboard: pages for browsers that ask the JSON API of contract §10, embedded in the binary.
//
// There is no build step. What is in assets is what a browser gets: ES modules, one style sheet, a file of texts for each
// locale, and libraries of others (assets/libs, with their licences; libs.json has their origin and SHA-256, which a test
// compares). Two files are made here from the package statuses, so that pages and terminals show one table: statuses.js and
// statuses.css. The directory of libraries isn't called vendor: Go leaves such ones out of a module, and so out of what go
// install builds.
//
// Each file is served below a path that holds the hash of all of them, for good; the page itself with an ETag. Pages have
// addresses of their own (/plans/7, /runs?status=FAILED) and all of them get the same document: what it refers to is relative
// to its <base>, which is as many steps up as the address is deep. So it works below any prefix, also one that a proxy takes
// away and this package never sees.
//
// The document allows nothing but files of this origin: no inline script, no inline style, no eval, no frame around it.
package ui
