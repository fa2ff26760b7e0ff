//go:build !linux

package null

import "context"

// serveLoop is serveConns: there is no loop over all sockets here.
func serveLoop(ctx context.Context, s *Server) error {
	return serveConns(ctx, s)
}
