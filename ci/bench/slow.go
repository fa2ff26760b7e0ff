package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// slowServer answers each request after a delay, so that as many are open as
// come in that time. It ends with its standard input.
func slowServer(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("slow-server", flag.ExitOnError)
	delay := f.Duration("delay", 0, "how long each answer takes")
	if err := f.Parse(args); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{
		Handler:           http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(*delay) }),
		ReadHeaderTimeout: time.Minute,
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		s.Close()
	}()
	if err := json.NewEncoder(os.Stdout).Encode(struct{ Addr string }{l.Addr().String()}); err != nil {
		return err
	}
	if err := s.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
