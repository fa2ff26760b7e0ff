package cli

import (
	"encoding/json"
	"fmt"

	"knee/generator/record"
)

// readingEvent is the kind of the events that keep what the generator took of
// its machine.
const readingEvent = "generator"

// observe keeps a reading. It is called during the runs of the driver alone.
func (s *session) observe(r record.Reading) {
	s.meta.Readings = append(s.meta.Readings, r)
	text, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("cli: encoding a reading: %v", err))
	}
	s.event(record.Event{At: r.At, Kind: readingEvent, Text: string(text)})
}

// keptReadings returns the readings of a run that was killed.
func keptReadings(events []record.Event) ([]record.Reading, error) {
	var all []record.Reading
	for _, e := range events {
		if e.Kind != readingEvent {
			continue
		}
		var r record.Reading
		if err := json.Unmarshal([]byte(e.Text), &r); err != nil {
			return nil, fmt.Errorf("events.jsonl: a reading at %v: %w", e.At, err)
		}
		all = append(all, r)
	}
	return all, nil
}
