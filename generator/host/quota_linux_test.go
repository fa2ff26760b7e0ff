package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestQuota(t *testing.T) {
	for name, c := range map[string]struct {
		membership string
		files      map[string]string
		want       float64
	}{
		"none":              {"0::/\n", nil, 0},
		"v2":                {"0::/a/b\n", map[string]string{"a/b/cpu.max": "150000 100000\n"}, 1.5},
		"v2, no limit":      {"0::/a\n", map[string]string{"a/cpu.max": "max 100000\n"}, 0},
		"v2, a parent's":    {"0::/a/b\n", map[string]string{"a/b/cpu.max": "max 100000\n", "a/cpu.max": "50000 100000\n"}, 0.5},
		"v2, in a box":      {"0::/\n", map[string]string{"cpu.max": "200000 100000\n"}, 2},
		"v2, odd":           {"0::/\n", map[string]string{"cpu.max": "x\n"}, 0},
		"v1":                {"4:cpu,cpuacct:/a\n", map[string]string{"cpu,cpuacct/a/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"}, 2.5},
		"v1, by short name": {"4:cpu,cpuacct:/a\n", map[string]string{"cpu/a/cpu.cfs_quota_us": "250000\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, 2.5},
		"v1, no limit":      {"1:cpu:/\n", map[string]string{"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0},
		"v1, in a box":      {"1:cpu:/box/7\n", map[string]string{"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.5},
		"others":            {"3:cpuset:/\n2:cpuacct:/\nodd\n", map[string]string{"cpuset/cpu.max": "1 2\n"}, 0},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			file = filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := quota(c.membership, root); got != c.want {
			t.Errorf("%s: %v CPUs, want %v", name, got, c.want)
		}
	}
}
