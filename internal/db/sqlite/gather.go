package sqlite

import (
	"errors"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// gatherer stands before the file of the write-ahead log. SQLite writes a commit page by
// page, in two calls each: the gatherer holds them back until SQLite wants them synced,
// and then writes them in one.
type gatherer struct {
	on   bool   // a commit is under way
	at   int64  // where in the file the held bytes belong
	held []byte // not yet written
	size int64  // of the file, at least

	file  lib.Tsqlite3_io_methods // what the file itself does
	read  transfer                // what SQLite calls in its place
	write transfer
	sync  syncer
	front uintptr // a sqlite3_io_methods with these three, and the memory for held
}

// The functions of a sqlite3_io_methods, https://sqlite.org/c3ref/io_methods.html.
type (
	transfer func(tls *libc.TLS, file, data uintptr, size int32, at int64) int32
	syncer   func(tls *libc.TLS, file uintptr, flags int32) int32
	sizer    func(tls *libc.TLS, file, size uintptr) int32
)

// maxHeld is how many bytes may be held back: SQLite's own function for a file writes
// fewer than 128 KB at once.
const maxHeld = 128<<10 - 1

// ahead is how many bytes the file grows by at once. To sync bytes that were written over
// costs half as much as to sync bytes that were appended, for which the file system must
// also note the new size.
const ahead = 8 * int64(len(zeros))

var zeros [64 << 10]byte

// Commit ends the transaction under way, and returns once it is on disk. The database
// must be in WAL mode, and synchronous=FULL.
func (c *Conn) Commit() error {
	s, err := c.Prepare(`COMMIT`)
	if err != nil {
		return err
	}
	if c.log == nil {
		if c.log, err = c.gather(); err != nil {
			return err
		}
	}
	c.log.on = true
	defer func() { c.log.on, c.log.held = false, c.log.held[:0] }()
	defer s.Reset()
	return s.Run()
}

// gather puts a gatherer before the log, which is open once a transaction is under way.
// All that a commit writes is written only if it ends in a sync.
func (c *Conn) gather() (*gatherer, error) {
	if synced, err := c.syncs(); err != nil || !synced {
		return nil, errors.Join(errors.New("commits are not synced"), err)
	}
	main, err := libc.CString("main")
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, main)
	var result int32
	log := out[uintptr](c.tls, func(log uintptr) {
		result = lib.Xsqlite3_file_control(c.tls, c.db, main, lib.SQLITE_FCNTL_JOURNAL_POINTER, log)
	})
	if err := c.check(result); err != nil {
		return nil, err
	}
	methods := &(*lib.Tsqlite3_file)(pointer(log)).FpMethods
	g := &gatherer{file: *(*lib.Tsqlite3_io_methods)(pointer(*methods))}
	g.read, g.write, g.sync = g.readFile, g.writeFile, g.syncFile
	front := g.file
	front.FxRead, front.FxWrite, front.FxSync = address(&g.read), address(&g.write), address(&g.sync)
	if g.front = lib.Xsqlite3_malloc(c.tls, int32(unsafe.Sizeof(front))+maxHeld); g.front == 0 {
		return nil, errors.New("no memory to gather commits in")
	}
	*(*lib.Tsqlite3_io_methods)(pointer(g.front)) = front
	g.held = memory(g.front+unsafe.Sizeof(front), maxHeld)[:0]
	*methods = g.front
	return g, nil
}

func (c *Conn) syncs() (bool, error) {
	s, err := c.prepare("PRAGMA synchronous", 0)
	if err != nil {
		return false, err
	}
	defer s.finalize()
	const full = 2
	row, err := s.Step()
	return row && s.Int(0) >= full, err
}

func (g *gatherer) writeFile(tls *libc.TLS, file, data uintptr, size int32, at int64) int32 {
	if !g.on {
		return (*function[transfer](&g.file.FxWrite))(tls, file, data, size, at)
	}
	if at != g.at+int64(len(g.held)) || len(g.held)+int(size) > maxHeld {
		if result := g.flush(tls, file); result != lib.SQLITE_OK {
			return result
		}
		g.at = at
	}
	g.held = append(g.held, memory(data, int(size))...)
	return lib.SQLITE_OK
}

func (g *gatherer) readFile(tls *libc.TLS, file, data uintptr, size int32, at int64) int32 {
	if result := g.flush(tls, file); result != lib.SQLITE_OK {
		return result
	}
	return (*function[transfer](&g.file.FxRead))(tls, file, data, size, at)
}

func (g *gatherer) syncFile(tls *libc.TLS, file uintptr, flags int32) int32 {
	if result := g.flush(tls, file); result != lib.SQLITE_OK {
		return result
	}
	return (*function[syncer](&g.file.FxSync))(tls, file, flags)
}

// flush writes what is held. If that fails so does the commit, and SQLite undoes the
// transaction.
func (g *gatherer) flush(tls *libc.TLS, file uintptr) int32 {
	if len(g.held) == 0 {
		return lib.SQLITE_OK
	}
	data, size := uintptr(unsafe.Pointer(unsafe.SliceData(g.held))), int32(len(g.held))
	g.held = g.held[:0]
	if end := g.at + int64(size); end > g.size {
		g.size = end
		g.grow(tls, file, end)
	}
	return (*function[transfer](&g.file.FxWrite))(tls, file, data, size, g.at)
}

// grow appends zeros, which SQLite takes for the end of the log, if the file ends before
// end; others may have made it longer. It does no harm if that fails.
func (g *gatherer) grow(tls *libc.TLS, file uintptr, end int64) {
	var result int32
	size := out[int64](tls, func(size uintptr) { result = (*function[sizer](&g.file.FxFileSize))(tls, file, size) })
	if result != lib.SQLITE_OK {
		return
	}
	if size < end {
		end += ahead
	}
	for ; size < end; size += int64(len(zeros)) {
		data := uintptr(unsafe.Pointer(&zeros))
		if (*function[transfer](&g.file.FxWrite))(tls, file, data, int32(len(zeros)), size) != lib.SQLITE_OK {
			return
		}
	}
	g.size = size
}

// address is what translated C takes for the address of a function, which must stay
// reachable.
func address[F transfer | syncer](f *F) uintptr { return *(*uintptr)(unsafe.Pointer(f)) }

// function is the function at an address.
func function[F transfer | syncer | sizer](address *uintptr) *F { return (*F)(unsafe.Pointer(address)) }
