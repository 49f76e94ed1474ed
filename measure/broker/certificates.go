package broker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// GenerateCertificates writes an authority of our own and a server certificate
// for localhost and 127.0.0.1, valid for ten days, into dir, which must exist.
// The authority's key is thrown away.
func GenerateCertificates(dir string) (TLS, error) {
	t, err := generateCertificates(dir)
	if err != nil {
		return TLS{}, fmt.Errorf("generate certificates: %w", err)
	}
	return t, nil
}

func generateCertificates(dir string) (TLS, error) {
	begin := time.Now().Add(-time.Hour) // clocks differ
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "genreport test authority"},
		NotBefore: begin, NotAfter: begin.AddDate(0, 0, 10),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: begin, NotAfter: begin.AddDate(0, 0, 10),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		// Without the address a client that connects to 127.0.0.1 refuses it.
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return TLS{}, err
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return TLS{}, err
	}
	authorityDER, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return TLS{}, err
	}
	// Parsed, so that the server's certificate names the key that signed it:
	// Python 3.13 and later refuse one that does not.
	signer, err := x509.ParseCertificate(authorityDER)
	if err != nil {
		return TLS{}, err
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, signer, serverKey.Public(), authorityKey)
	if err != nil {
		return TLS{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		return TLS{}, err
	}
	t := TLS{
		CertFile: filepath.Join(dir, "cert.pem"),
		KeyFile:  filepath.Join(dir, "key.pem"),
		CAFile:   filepath.Join(dir, "ca.pem"),
	}
	for _, f := range []struct {
		path, kind string
		der        []byte
	}{
		{t.CAFile, "CERTIFICATE", authorityDER},
		{t.CertFile, "CERTIFICATE", serverDER},
		{t.KeyFile, "PRIVATE KEY", keyDER},
	} {
		text := pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der})
		if err := os.WriteFile(f.path, text, 0o600); err != nil {
			return TLS{}, err
		}
	}
	return t, nil
}
