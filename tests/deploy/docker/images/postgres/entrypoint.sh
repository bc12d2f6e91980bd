#!/bin/bash
# As root: read the password, give the data to postgres and become postgres. As postgres: make the cluster once, then
# serve. Official images do it in this order, so that postgres need not be able to read the file with the password.
set -eu
if [ "$(id -u)" = 0 ]; then
    POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
    export POSTGRES_PASSWORD
    unset POSTGRES_PASSWORD_FILE
    mkdir -p "$PGDATA" /var/run/postgresql
    chmod 0700 "$PGDATA"
    chmod 03775 /var/run/postgresql
    find "$PGDATA" /var/run/postgresql \! -user postgres -exec chown postgres {} +
    exec gosu postgres "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    # shellcheck disable=SC2086  # the arguments are words
    initdb --username="$POSTGRES_USER" --pwfile=<(printf "%s\n" "$POSTGRES_PASSWORD") ${POSTGRES_INITDB_ARGS:-}
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    # Until this server ends, no question from outside is answered: it listens on its socket only.
    pg_ctl --wait --options="-c listen_addresses=''" start
    PGPASSWORD=$POSTGRES_PASSWORD createdb --username="$POSTGRES_USER" --maintenance-db=postgres "$POSTGRES_DB"
    pg_ctl --wait --mode=fast stop
fi
unset POSTGRES_PASSWORD
exec "$@"
