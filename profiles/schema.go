package profiles

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

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
			Description: "METRIC[{class=NAME}] OP VALUE [at LOAD] [in PHASE], such as `good.p99 <= 80ms at 2x`.",
			Examples:    []any{"plateau >= 0.9", "knee >= 0.9x", "recovery <= 2s", "good.p99 <= 80ms at 2x", "rejected == 0 in recovery"},
		}
	}
	if t == reflect.TypeFor[verdict.Guard]() {
		return &jsonschema.Schema{
			Type:        "string",
			Description: "abort when METRIC OP VALUE for DURATION, such as `abort when goodput < 0.2x for 5s`.",
			Examples:    []any{"abort when goodput < 0.2x for 5s", "abort when timeout > 50% for 2s", "abort when in_flight > 500 for 1s"},
		}
	}
	if p, ok := reflect.New(t).Interface().(pluggable); ok {
		return p.catalogue().schema(t)
	}
	return nil
}

// schema describes a plug-in of type t: one alternative for each kind.
func (c catalogue) schema(t reflect.Type) *jsonschema.Schema {
	if len(c.entries) == 0 {
		return jsonschema.FalseSchema
	}
	s := &jsonschema.Schema{}
	for _, e := range c.entries {
		s.OneOf = append(s.OneOf, e.schema(t))
	}
	return s
}

func (e entry) schema(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	if knobs := e.newKnobs(); knobs != nil {
		s = reflector().Reflect(knobs)
		s.Version = ""
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			p.Value.Default = defaultOf(knobs, p.Key)
		}
	}
	fields := fieldsOf(t)
	for _, name := range names(fields) {
		p := reflector().ReflectFromType(fields[name].Type)
		p.Version, p.Description = "", fields[name].Tag.Get("doc")
		s.Properties.Set(name, p)
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
	switch k := v.Kind(); {
	case k != reflect.Map && k != reflect.Slice && k != reflect.Pointer:
	case v.IsNil():
		return nil
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
	above(s, "degraded", 0)
	property(s, "degraded").Maximum = "1"
	enum(s, "shed_at", shedStages)
}

// JSONSchemaExtend adds what the loader checks after decoding.
func (Batch) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Required = []string{"size"}
	bounds(s, "size", 2, MaxWorkers)
}

// JSONSchemaExtend adds what the loader checks after decoding.
func (Service) JSONSchemaExtend(s *jsonschema.Schema) {
	enum(s, "kind", work.Kinds())
	enum(s, "per", servicePer)
}

// JSONSchemaExtend adds what the loader checks after decoding.
func (ClassService) JSONSchemaExtend(s *jsonschema.Schema) { enum(s, "kind", work.Kinds()) }

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
	above(s, "cost", 0)
	bounds(s, "bytes", 0, maxBytes)
	enum(s, "criticality", criticalities)
}

// JSONSchemaExtend adds what the loader checks after decoding.
func (Workload) JSONSchemaExtend(s *jsonschema.Schema) {
	enum(s, "arrivals", arrivals)
	one := uint64(1)
	replayed, phases := jsonschema.NewProperties(), jsonschema.NewProperties()
	replayed.Set("arrivals", &jsonschema.Schema{Const: replay})
	phases.Set("phases", &jsonschema.Schema{MinItems: &one})
	s.If = &jsonschema.Schema{Properties: replayed, Required: []string{"arrivals"}}
	s.Then = &jsonschema.Schema{Required: []string{"replay"}}
	s.Else = &jsonschema.Schema{Required: []string{"phases"}, Properties: phases}
}

// JSONSchemaExtend adds what the loader checks after decoding.
func (Burst) JSONSchemaExtend(s *jsonschema.Schema) {
	property(s, "idle").Minimum = "0"
	property(s, "idle").ExclusiveMaximum = "1"
	enum(s, "lengths", burstLengths)
}

// JSONSchemaExtend adds what the loader checks after decoding.
func (Replay) JSONSchemaExtend(s *jsonschema.Schema) {
	enum(s, "of", replayContents)
	for name, most := range map[string]uint64{"offsets": maxOffsets, "counts": maxCounts} {
		property(s, name).MaxItems = &most
	}
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
			Then: &jsonschema.Schema{Required: required(kind)},
		})
	}
}

// required returns what a phase of a kind must have whatever the arrivals: those
// of a replay have no rate.
func required(kind string) []string {
	return slices.DeleteFunc(slices.Clone(phaseFields[kind]), func(name string) bool { return name == "rate" })
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

func above(s *jsonschema.Schema, name string, low int) {
	property(s, name).ExclusiveMinimum = json.Number(fmt.Sprint(low))
}

func bounds(s *jsonschema.Schema, name string, low, high int) {
	property(s, name).Minimum = json.Number(fmt.Sprint(low))
	property(s, name).Maximum = json.Number(fmt.Sprint(high))
}
