package server

import "knee/target/protection"

// line is a list of requests through Links.Older and .Newer, oldest arrival
// first. A request is in at most one line: waiting, held by the shell, or
// running outside.
type line struct {
	oldest, newest *protection.Request
}

// add puts r behind the requests that arrived before it. Shells hand requests in
// nearly in the order of arrival, so the walk is short.
func (l *line) add(r *protection.Request) {
	older := l.newest
	for older != nil && older.Arrived > r.Arrived {
		older = older.Links.Older
	}
	newer := l.oldest
	if older != nil {
		newer = older.Links.Newer
		older.Links.Newer = r
	} else {
		l.oldest = r
	}
	if newer != nil {
		newer.Links.Older = r
	} else {
		l.newest = r
	}
	r.Links.Older, r.Links.Newer = older, newer
}

// remove takes r, which is in the line, out of it.
func (l *line) remove(r *protection.Request) {
	older, newer := r.Links.Older, r.Links.Newer
	if older != nil {
		older.Links.Newer = newer
	} else {
		l.oldest = newer
	}
	if newer != nil {
		newer.Links.Older = older
	} else {
		l.newest = older
	}
	r.Links.Older, r.Links.Newer = nil, nil
}
