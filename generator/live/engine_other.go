//go:build !linux

package live

func platformEngines() []engine { return nil }
