//go:build !linux

package main

// bareTool is there on Linux only.
func bareTool(string) (tool, bool) { return tool{}, false }
