package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// module is where the source is.
const module = "github.com/rowrun/rowrun"

// sbom says what a binary is made of, as the binary itself has it from its build: CycloneDX.
func (r *release) sbom(t target, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	component := func(kind cyclonedx.ComponentType, name, version, license string) cyclonedx.Component {
		purl := "pkg:golang/" + name + "@" + strings.ReplaceAll(version, "+", "%2B")
		return cyclonedx.Component{
			BOMRef: purl, Type: kind, Name: name, Version: version, PackageURL: purl,
			Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: license}}},
		}
	}
	main := component(cyclonedx.ComponentTypeApplication, module, "v"+r.version, "Apache-2.0")
	main.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}}
	main.Properties = &[]cyclonedx.Property{
		{Name: "cdx:gomod:build:env:GOOS", Value: t.os}, {Name: "cdx:gomod:build:env:GOARCH", Value: t.arch}, {Name: "rowrun:commit", Value: r.commit},
	}
	parts := []cyclonedx.Component{component(cyclonedx.ComponentTypeLibrary, standard, strings.TrimPrefix(info.GoVersion, "go"), r.licenses.spdx[standard])}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		license, ok := r.licenses.spdx[dep.Path]
		if !ok {
			return fmt.Errorf("%s is in the binary and was not found among its modules", dep.Path)
		}
		part := component(cyclonedx.ComponentTypeLibrary, dep.Path, dep.Version, license)
		part.Properties = &[]cyclonedx.Property{{Name: "cdx:gomod:sum", Value: dep.Sum}}
		parts = append(parts, part)
	}
	slices.SortFunc(parts, func(a, b cyclonedx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	var refs []string
	for _, part := range parts {
		refs = append(refs, part.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = uuid.NewHash(sha256.New(), uuid.NameSpaceURL, sum[:], 5).URN()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.epoch.Format("2006-01-02T15:04:05Z"), Component: &main}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return r.create(fmt.Sprintf("rowrun_%s_%s_%s.cdx.json", r.version, t.os, t.arch), func(w io.Writer) error {
		return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
	})
}

// sortedKeys are the keys of a map, in order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
