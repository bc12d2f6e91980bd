#!/bin/sh
# A node in a container: enrol once with the code that the panel left for us, then run PowerDNS and the agent.
#
#   NODE_ADDRESS  the IP address to answer on
#   PANEL_URL     where to enrol
#   NODE_CACHES   false for a private node such as ring 0, which keeps no answers; true by default
set -eu
umask 077
cd /var/lib/node

if [ ! -e api-key ]; then
    head -c 32 /dev/urandom | base64 | tr -d '/+=\n' >api-key.new
    mv api-key.new api-key
fi
cat >agent.toml <<TOML
identity_dir = "identity"
state_dir = "state"
lmdb_path = "pdns.lmdb"
control_socket = "run/pdns.controlsocket"
pdns_conf = "pdns.conf"
dns_address = "$NODE_ADDRESS"
dns_port = 5300
receiver_threads = $(nproc)
listen_host = "::"
listen_port = 8533
api_port = 8081
api_key = "$(cat api-key)"
caches = ${NODE_CACHES:-true}
TOML
# The control socket is in the volume, which belongs to our user from the first start on. A tmpfs over a directory that
# the image lacks belongs to root, mode 0755, after the first restart: then PowerDNS cannot bind its socket.
mkdir -p state run

cd /srv/dnspanel
while [ ! -e /var/lib/node/identity/identity.json ]; do
    if [ -s /enrolment/code ]; then
        python -m replication.agent enroll --panel "$PANEL_URL" --code "$(cat /enrolment/code)" \
            --dir=/var/lib/node/identity || sleep 2
    else
        sleep 1
    fi
done
python -m replication.agent prepare --config /var/lib/node/agent.toml
python -m replication.agent pdnsconf --config /var/lib/node/agent.toml >/var/lib/node/pdns.conf
exec /usr/bin/supervisord --nodaemon --configuration /srv/dnspanel/supervisord.conf
