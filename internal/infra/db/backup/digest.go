package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// A backup ends in a line with the digest of everything before it. SQLite ignores data after the last page, so its own
// tools can open the file too.
const (
	digestLabel = "\nfoyer backup sha256:"
	digestSize  = len(digestLabel) + 2*sha256.Size + len("\n")
)

func digestLine(sum []byte) []byte { return []byte(digestLabel + hex.EncodeToString(sum) + "\n") }

// addDigest appends the line with the digest to a file.
func addDigest(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { f.Close() })() // ends the reading
	sum := sha256.New()
	if _, err = io.Copy(sum, f); err == nil { // leaves f at its end
		_, err = f.Write(digestLine(sum.Sum(nil)))
	}
	return errors.Join(err, f.Close())
}

// copyChecked copies the content of a backup before its digest line, and fails if the digest does not match.
func copyChecked(dst io.Writer, src *os.File) error {
	info, err := src.Stat()
	if err != nil {
		return err
	}
	content := info.Size() - int64(digestSize)
	if content <= 0 {
		return errNoBackup
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(dst, sum), src, content); err != nil {
		return err
	}
	line, err := io.ReadAll(src)
	switch {
	case err != nil:
		return err
	case bytes.Equal(line, digestLine(sum.Sum(nil))):
		return nil
	default:
		return fmt.Errorf("%w, or one that was damaged or cut short: the digest at its end does not match its content", errNoBackup)
	}
}
