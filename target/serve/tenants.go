package serve

import (
	"strings"
	"sync"
)

// maxTenants bounds the names that callers can make a server remember; the
// requests of any further tenant share one name.
const (
	maxTenants   = 1000
	otherTenants = "other"
)

// tenants keeps one copy of each tenant's name.
type tenants struct {
	mu    sync.RWMutex
	names map[string]string
}

// intern returns a string equal to name that may be kept.
func (t *tenants) intern(name string) string {
	t.mu.RLock()
	kept, ok := t.names[name]
	t.mu.RUnlock()
	if ok {
		return kept
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if kept, ok = t.names[name]; ok {
		return kept
	}
	if len(t.names) >= maxTenants {
		return otherTenants
	}
	if t.names == nil {
		t.names = map[string]string{}
	}
	kept = strings.Clone(name)
	t.names[kept] = kept
	return kept
}
