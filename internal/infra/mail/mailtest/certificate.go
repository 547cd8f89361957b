package mailtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
)

// authority is a self-signed certificate for 127.0.0.1, made once.
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

// RootCAs returns a pool that trusts the servers of this package.
func RootCAs(tb testing.TB) *x509.CertPool {
	tb.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(testCertificate(tb).Leaf)
	return pool
}
