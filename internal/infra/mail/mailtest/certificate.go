package mailtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// authority is made once: a certificate for 127.0.0.1 that vouches for itself.
var authority = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:              time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
})

func testCertificate(tb testing.TB) tls.Certificate {
	tb.Helper()
	certificate, err := authority()
	if err != nil {
		tb.Fatal(err)
	}
	return certificate
}

// RootCAs trusts the servers of this package.
func RootCAs(tb testing.TB) *x509.CertPool {
	tb.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(testCertificate(tb).Leaf)
	return pool
}

// RootCAFile is RootCAs as a file for SSL_CERT_FILE, to test a built binary.
func RootCAFile(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: testCertificate(tb).Leaf.Raw})
	if err := os.WriteFile(path, block, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}
