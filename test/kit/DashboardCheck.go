// Holds dashboards to the schema of Grafana, that of their panels and queries included: a field that nobody
// knows, has the wrong type or is missing is an error.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

type strict interface {
	UnmarshalJSONStrict(raw []byte) error
}

// Where nothing is wrong, an empty list is answered, which Go does not take for nil.
func read(into strict, text []byte) error {
	if err := into.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		return err
	}
	return nil
}

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	whole := dashboard.Dashboard{}
	if err := read(&whole, text); err != nil {
		return err
	}
	// What a dashboard's own reader takes as it is.
	var parts struct {
		Panels []struct {
			FieldConfig json.RawMessage `json:"fieldConfig"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	for at, panel := range parts.Panels {
		if err := read(&dashboard.FieldConfigSource{}, panel.FieldConfig); err != nil {
			return fmt.Errorf("panel %d: %w", at, err)
		}
	}
	return whole.Validate()
}

func main() {
	known := cog.NewRuntime()
	known.RegisterPanelcfgVariant(timeseries.VariantConfig())
	known.RegisterPanelcfgVariant(stat.VariantConfig())
	known.RegisterDataqueryVariant(prometheus.VariantConfig())
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
	}
}
