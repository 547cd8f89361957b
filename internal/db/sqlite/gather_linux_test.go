package sqlite_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// A commit that cannot be written is none: what comes after it finds nothing of it.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	c := open(t, path)
	begin := func(a string) {
		t.Helper()
		for _, statement := range []string{`BEGIN IMMEDIATE`, `INSERT INTO t (a) VALUES ('` + a + `')`} {
			if _, err := run(t, c, statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := run(t, c, `CREATE TABLE t (a TEXT)`); err != nil {
		t.Fatal(err)
	}
	begin("before")
	if err := c.Commit(); err != nil {
		t.Fatal(err)
	}
	begin("lost")
	mend := fill(t, path+"-wal")
	if err := c.Commit(); err == nil {
		t.Error("committed")
	}
	mend()
	if c.InTransaction() {
		t.Error("the transaction is still under way")
	}
	begin("after")
	if err := c.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, err := run(t, c, `SELECT group_concat(a) FROM t`); err != nil || got[0] != "before,after" {
		t.Errorf("got %v, %v", got, err)
	}
}

// fill makes an open file of this process one on a disk that is full.
func fill(t *testing.T, path string) (mend func()) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	file := descriptorOf(t, path)
	kept, err := syscall.Dup(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(int(full.Fd()), file, syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Dup3(kept, file, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Close(kept); err != nil {
			t.Error(err)
		}
	}
}

func descriptorOf(t *testing.T, path string) int {
	t.Helper()
	for fd := 3; fd < 1000; fd++ {
		if link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && link == path {
			return fd
		}
	}
	t.Fatalf("%s is not open", path)
	return 0
}
