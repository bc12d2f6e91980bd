# Run in a machine: start pebble, a certificate authority with ACME, and write the answers for `dnspanel setup`.
set -e
mkdir -p /root/pebble
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 -subj /CN=pebble \
    -addext subjectAltName=DNS:localhost -keyout /root/pebble/key.pem \
    -out /usr/local/share/ca-certificates/pebble.crt
update-ca-certificates
cat >/root/pebble/config.json <<'TEXT'
{
  "pebble": {
    "listenAddress": "127.0.0.1:14000",
    "managementListenAddress": "127.0.0.1:15000",
    "certificate": "/usr/local/share/ca-certificates/pebble.crt",
    "privateKey": "/root/pebble/key.pem",
    "httpPort": 80,
    "tlsPort": 443
  }
}
TEXT
systemd-run --unit=pebble --setenv=PEBBLE_VA_NOSLEEP=1 pebble -config /root/pebble/config.json
cat >/root/acme.toml <<'TEXT'
certificate = "acme"
mail = "operator@example.test"
acme_server = "https://localhost:14000/dir"
TEXT
for _ in $(seq 100); do curl -sf https://localhost:14000/dir >/dev/null && exit 0; sleep 0.1; done
exit 1
