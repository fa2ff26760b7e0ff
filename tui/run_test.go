package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestRunEndsWithTheUpdates(t *testing.T) {
	var out bytes.Buffer
	updates := make(chan Snapshot)
	go func() {
		updates <- midway()
		close(updates)
	}()
	if err := Run(t.Context(), nil, &out, updates, func() {}); err != nil {
		t.Fatal(err)
	}
}

func TestRunPassesKeysOn(t *testing.T) {
	updates := make(chan Snapshot)
	in, keys := io.Pipe()
	go keys.Write([]byte("q")) // the pipe is read until Run ends
	if err := Run(t.Context(), in, io.Discard, updates, func() { close(updates) }); err != nil {
		t.Fatal(err)
	}
	keys.Close()
}

func TestRunReturnsTheCause(t *testing.T) {
	cause := errors.New("stopped by a guard")
	ctx, cancel := context.WithCancelCause(t.Context())
	updates := make(chan Snapshot)
	go func() {
		updates <- midway() // so that it runs by then
		cancel(cause)
	}()
	if err := Run(ctx, strings.NewReader(""), io.Discard, updates, func() {}); !errors.Is(err, cause) {
		t.Errorf("Run = %v, want %v", err, cause)
	}
}
