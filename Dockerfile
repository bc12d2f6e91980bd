# Two images: `panel` (web, workers, beat, collector) and `node` (PowerDNS with its agent). nginx stands before `web`.

# By version, so that a build has Debian's security fixes; a digest would keep what they mend.
FROM debian:12-slim AS python
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends ca-certificates python3 \
    && rm -rf /var/lib/apt/lists/*
ENV PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.licenses=Apache-2.0

FROM python AS build
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends python3-venv
COPY requirements /requirements

FROM build AS build-panel
# python-ldap has no wheel.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
       gcc libc6-dev libldap-dev libsasl2-dev python3-dev
RUN python3 -m venv /opt/dnspanel \
    && /opt/dnspanel/bin/pip install --no-cache-dir --require-hashes --requirement /requirements/panel.txt

FROM build AS build-node
RUN python3 -m venv /opt/dnspanel \
    && /opt/dnspanel/bin/pip install --no-cache-dir --require-hashes --requirement /requirements/agent.txt


FROM python AS catalogs
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends gettext
COPY locale /locale
RUN for catalog in /locale/*/LC_MESSAGES/django.po; do msgfmt --output-file="${catalog%.po}.mo" "$catalog"; done


FROM python AS panel
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends libldap-2.5-0 libsasl2-2 \
    && rm -rf /var/lib/apt/lists/*
# Directories that volumes are mounted on get their owner from here.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin dnspanel \
    && install -d -o dnspanel -g dnspanel -m 0750 /generated/panel /generated/postgres /generated/redis \
       /var/lib/dnspanel /run/dnspanel \
    && install -d -o dnspanel -g dnspanel -m 0755 /enrolment/ns1 /enrolment/ns2 /enrolment/ns3 /enrolment/ring0
COPY --from=build-panel /opt/dnspanel /opt/dnspanel
WORKDIR /srv/dnspanel
COPY LICENSE NOTICE manage.py ./
COPY replication replication
COPY dnspanel dnspanel
COPY templates templates
COPY static static
COPY --from=catalogs /locale locale
# There is no .git here: `DNSPANEL_VERSION=$(./dev version) docker compose build` says which commit this is.
ARG DNSPANEL_VERSION=""
RUN python3 replication/version.py --write "$DNSPANEL_VERSION"
ENV PATH=/opt/dnspanel/bin:$PATH \
    PANEL_STATIC_ROOT=/srv/static \
    PANEL_VAR=/var/lib/dnspanel
# Static files are part of the image; the values given here are not kept in it.
RUN python -m compileall -q dnspanel replication \
    && PANEL_SECRET_KEY=build PANEL_MASTER_KEY=build PANEL_DATABASE=postgresql:// PANEL_REDIS_URL=redis:// \
       python manage.py collectstatic --noinput --verbosity 0 --skip-checks
USER dnspanel
CMD ["python", "-m", "dnspanel.watchdog", "web", "--", \
     "gunicorn", "dnspanel.wsgi", "--config", "python:dnspanel.web_server", "--bind", "unix:/run/dnspanel/web.sock", \
     "--preload", "--workers", "2", "--worker-class", "dnspanel.gunicorn_worker.Worker", "--threads", "24", "--keep-alive", "75", "--graceful-timeout", "2", "--limit-request-line", "8190", \
     "--worker-tmp-dir", "/dev/shm", "--no-control-socket", "--log-level", "warning"]


FROM python AS node
# Debian starts no service in an image build; the package also makes the user pdns.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
       pdns-server pdns-backend-lmdb supervisor \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o pdns -g pdns -m 0750 /var/lib/node
COPY --from=build-node /opt/dnspanel /opt/dnspanel
WORKDIR /srv/dnspanel
COPY LICENSE NOTICE ./
COPY replication replication
COPY dnspanel/demo/container/node.sh dnspanel/demo/container/supervisord.conf ./
ARG DNSPANEL_VERSION=""
RUN python3 replication/version.py --write "$DNSPANEL_VERSION"
ENV PATH=/opt/dnspanel/bin:$PATH
RUN python -m compileall -q replication
USER pdns
# The agent and the server share LMDB's lock file, which needs them to see the same process ids: one container. And one
# user: PowerDNS makes its files with mode 0600, whoever else should write them (docs/operate/nodes.md).
CMD ["sh", "node.sh"]
EXPOSE 5300/udp 5300/tcp 8533
