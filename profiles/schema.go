package profiles

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"

	"knee/ci/verdict"
	"knee/target/work"
)

// Schema returns the JSON Schema (2020-12) of a profile. It comes from the
// same types and registries as the loader, knobs of plug-ins included. It
// cannot say everything that the loader knows: faults between fields are the
// loader's alone.
func Schema() ([]byte, error) {
	s := reflector().Reflect(&Profile{})
	s.Title = "knee profile"
	s.Description = "What a run of knee does: the target, the clients, the load and the checks."
	return json.MarshalIndent(s, "", "  ")
}

// reflector describes values as YAML writes them.
func reflector() *jsonschema.Reflector {
	return &jsonschema.Reflector{
		Anonymous:                  true,
		DoNotReference:             true,
		FieldNameTag:               "yaml",
		RequiredFromJSONSchemaTags: true,
		LookupComment:              docOf,
		Mapper:                     special,
	}
}

// docOf returns the doc tag of a field.
func docOf(t reflect.Type, field string) string {
	if t.Kind() != reflect.Struct || field == "" {
		return ""
	}
	f, _ := t.FieldByName(field)
	return f.Tag.Get("doc")
}

// special describes the types that are written otherwise than their Go kind.
func special(t reflect.Type) *jsonschema.Schema {
	if t == durationType {
		return Duration(0).JSONSchema()
	}
	if t == reflect.TypeFor[verdict.Check]() {
		return &jsonschema.Schema{
			Type:        "string",
			Description: "METRIC[{class=NAME}] OP VALUE [at LOAD], such as `good.p99 <= 80ms at 2x`.",
			Examples:    []any{"plateau >= 0.9", "knee >= 0.9x", "recovery <= 2s", "good.p99 <= 80ms at 2x"},
		}
	}
	if p, ok := reflect.New(t).Interface().(pluggable); ok {
		return p.catalogue().schema()
	}
	return nil
}

// schema describes a plug-in: one alternative for each kind.
func (c catalogue) schema() *jsonschema.Schema {
	if len(c.entries) == 0 {
		return jsonschema.FalseSchema
	}
	s := &jsonschema.Schema{}
	for _, e := range c.entries {
		s.OneOf = append(s.OneOf, e.schema())
	}
	return s
}

func (e entry) schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	if knobs := e.newKnobs(); knobs != nil {
		s = reflector().Reflect(knobs)
		s.Version = ""
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			p.Value.Default = defaultOf(knobs, p.Key)
		}
	}
	s.Description = e.doc
	s.Properties.Set("kind", &jsonschema.Schema{Const: e.name})
	s.Required = []string{"kind"}
	return s
}

// defaultOf returns the default of a knob as YAML writes it, nil when it has none.
func defaultOf(knobs any, name string) any {
	v := reflect.ValueOf(knobs).Elem()
	v = v.FieldByIndex(fieldsOf(v.Type())[name].Index)
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
	}
	var plain any
	if err := nodeOf(v).Decode(&plain); err != nil {
		panic(fmt.Sprintf("profiles: the default of %s cannot be read back: %v", name, err))
	}
	return plain
}

// JSONSchema describes auto or a number.
func (MaxInFlight) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Const: "auto"}, {Type: "integer", Minimum: "1"}}}
}

// JSONSchemaExtend adds what the loader checks after decoding.
func (Profile) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Required = []string{"load"}
	property(s, "seed").Minimum = "0"
}

// JSONSchemaExtend adds what the loader checks after decoding.
func (Target) JSONSchemaExtend(s *jsonschema.Schema) {
	bounds(s, "workers", 1, MaxWorkers)
	bounds(s, "reject_cost", 0, 1)
	enum(s, "shed_at", shedStages)
}

// JSONSchemaExtend adds what the loader checks after decoding.
func (Service) JSONSchemaExtend(s *jsonschema.Schema) { enum(s, "kind", work.Kinds()) }

// JSONSchemaExtend adds what the loader checks after decoding.
func (Client) JSONSchemaExtend(s *jsonschema.Schema) {
	bounds(s, "clients", 1, maxClients)
	enum(s, "on_timeout", timeoutActions)
}

// JSONSchemaExtend adds what the loader checks after decoding.
func (Class) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Required = []string{"name"}
	property(s, "name").Pattern = classNameForm
	property(s, "weight").Minimum = "0"
	property(s, "cost").ExclusiveMinimum = "0"
	enum(s, "criticality", criticalities)
}

// JSONSchemaExtend adds what the loader checks after decoding.
func (Workload) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Required = []string{"phases"}
	one := uint64(1)
	property(s, "phases").MinItems = &one
	enum(s, "arrivals", arrivals)
}

// JSONSchemaExtend adds what the loader checks after decoding.
func (Phase) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Required = []string{"kind"}
	enum(s, "kind", phaseKinds)
	for _, kind := range phaseKinds {
		is := jsonschema.NewProperties()
		is.Set("kind", &jsonschema.Schema{Const: kind})
		s.AllOf = append(s.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: is},
			Then: &jsonschema.Schema{Required: phaseFields[kind]},
		})
	}
}

// property returns a field's schema.
func property(s *jsonschema.Schema, name string) *jsonschema.Schema {
	p, ok := s.Properties.Get(name)
	if !ok {
		panic("profiles: no field " + name)
	}
	return p
}

func enum(s *jsonschema.Schema, name string, values []string) {
	for _, v := range values {
		property(s, name).Enum = append(property(s, name).Enum, v)
	}
}

func bounds(s *jsonschema.Schema, name string, low, high int) {
	property(s, name).Minimum = json.Number(fmt.Sprint(low))
	property(s, name).Maximum = json.Number(fmt.Sprint(high))
}
