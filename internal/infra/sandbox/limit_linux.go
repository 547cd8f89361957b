package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// executable names the running program, even if an upgrade has replaced its file: parent and child must be the same
// version.
func executable() (string, error) { return "/proc/self/exe", nil }

// apart puts the child into a session of its own, which terminal signals do not reach, and makes the kernel end it with
// its parent.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// confine takes away everything that this process does not need.
func confine() error {
	mapped, err := mappedData()
	if err != nil {
		return err
	}
	// When memory is short, the kernel should end children and not the server. Where /proc is not writable, the kernel
	// decides.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	if err := lowerPriority(); err != nil {
		return fmt.Errorf("lower the priority: %w", err)
	}
	// The first timer opens the runtime's poller; a later one would fail fatally, because no more files can be opened
	// then.
	time.NewTimer(time.Hour).Stop()
	if err := closeInherited(); err != nil {
		return err
	}

	endInTime()
	for _, limit := range []struct {
		resource  int
		soft, max uint64
	}{
		{syscall.RLIMIT_DATA, mapped + maxMemory, mapped + maxMemory},
		{syscall.RLIMIT_CPU, uint64(maxCPU / time.Second), uint64(maxWall / time.Second)},
		{syscall.RLIMIT_CORE, 0, 0},
		{syscall.RLIMIT_NOFILE, 0, 0}, // no new file or socket
	} {
		var server syscall.Rlimit // only root may exceed it
		if err := syscall.Getrlimit(limit.resource, &server); err != nil {
			return fmt.Errorf("read resource limit %d: %w", limit.resource, err)
		}
		own := syscall.Rlimit{Cur: min(limit.soft, server.Max), Max: min(limit.max, server.Max)}
		if err := syscall.Setrlimit(limit.resource, &own); err != nil {
			return fmt.Errorf("set resource limit %d: %w", limit.resource, err)
		}
	}
	return nil
}

// lowerPriority gives a child a quarter of what a request gets when all cores are busy: six steps less than the server,
// which may itself run with less than the usual priority. Only root may raise a priority.
func lowerPriority() error {
	const steps, highest = 6, 20 // the kernel returns 20 minus the nice value
	left, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return err
	}
	return syscall.Setpriority(syscall.PRIO_PGRP, 0, highest-left+steps) // 19 if that is more
}

// endInTime ends this process when the kernel signals that its processor time is used up; if the kernel ended it, nothing
// would show why.
func endInTime() {
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGXCPU)
	go func() {
		<-over
		os.Exit(exitOutOfTime) //nolint:forbidigo // as the kernel would have it, in the middle of the task
	}()
}

// mappedData returns how many bytes RLIMIT_DATA already counts: Go's runtime maps about 100 MB that it never touches, the
// race detector much more.
func mappedData() (uint64, error) {
	const data = 5 // the sixth number, in pages
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(statm)
	if len(fields) <= data {
		return 0, fmt.Errorf("unexpected /proc/self/statm: %q", statm)
	}
	pages, err := strconv.ParseUint(string(fields[data]), 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// closeInherited closes the files that the server, and so this process, inherited. Go opens its own files with
// close-on-exec.
func closeInherited() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range open {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			return err
		}
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if fd > 2 && errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			if err := syscall.Close(fd); err != nil {
				return fmt.Errorf("close an inherited file: %w", err)
			}
		}
	}
	return nil
}
