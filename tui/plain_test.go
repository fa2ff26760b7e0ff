package tui

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestPlainPrintsChangesAndNowAndThen(t *testing.T) {
	var b strings.Builder
	p := NewPlain(&b, 5*time.Second)
	s := midway()
	for _, at := range []struct {
		now    time.Duration
		change func()
	}{
		{0, func() {}},
		{time.Second, func() {}}, // nothing new
		{4999 * time.Millisecond, func() { s.Load = 3 }},  // a new load is no reason
		{5 * time.Second, func() {}},                      // time is
		{6 * time.Second, func() { s.Stage = "spiking" }}, // a stage is
		{10 * time.Second, func() {}},                     // counted from the last line
		{11 * time.Second, func() { s.Load = 0 }},
		{12 * time.Second, func() { s.Note = "warning: lag" }}, // a note is, once
		{13 * time.Second, func() {}},
		{14 * time.Second, func() { s.Note = "" }},
	} {
		at.change()
		if err := p.Update(at.now, s); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "plain", b.String())
}

func TestPlainSaysHowFarWithoutATotal(t *testing.T) {
	var b strings.Builder
	if err := NewPlain(&b, 0).Update(0, Snapshot{Done: 61 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if want := "starting  1:01 gone\n"; b.String() != want {
		t.Errorf("printed %q, want %q", b.String(), want)
	}
}

var errBroken = errors.New("broken pipe")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestPlainReturnsTheErrorOfWriting(t *testing.T) {
	if err := NewPlain(broken{}, 0).Update(0, midway()); !errors.Is(err, errBroken) {
		t.Errorf("Update = %v, want %v", err, errBroken)
	}
}
