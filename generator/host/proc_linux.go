package host

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// A procFile is a short text of the kernel. It is read several times a second
// for as long as a run lasts, so that what each reading left behind would be the
// most of what this process leaves at all.
type procFile struct{ text [512]byte }

// read returns the first 512 bytes of the file at path, which are overwritten by
// the next read; nil when it cannot be read.
func (f *procFile) read(path string) []byte {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, f.text[:])
	if err != nil {
		return nil
	}
	return f.text[:n]
}

// number returns the i-th of the words of text, from 0, as a number.
func number(text []byte, i int) (n int64, ok bool) {
	for ; ; i-- {
		text = bytes.TrimLeft(text, " \t\n")
		end := bytes.IndexAny(text, " \t\n")
		if end < 0 {
			end = len(text)
		}
		if i == 0 {
			n, err := strconv.ParseInt(string(text[:end]), 10, 64)
			return n, err == nil
		}
		text = text[end:]
	}
}

// numbered appends the names of the folder at path that are numbers.
func (f *procFile) numbered(into []int, path string) []int {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	if err != nil {
		return into
	}
	defer unix.Close(fd)
	var names [64]string
	for {
		n, err := unix.ReadDirent(fd, f.text[:])
		if err != nil || n <= 0 {
			return into
		}
		_, _, found := unix.ParseDirent(f.text[:n], -1, names[:0])
		for _, name := range found {
			if id, err := strconv.Atoi(name); err == nil {
				into = append(into, id)
			}
		}
	}
}
