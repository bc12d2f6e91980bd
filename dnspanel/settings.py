"""Read all settings from the environment. docs/operate/settings.md lists every variable.

If a required variable isn't set, the start fails, and the error names the variable. A secret can be given as NAME or as
NAME_FILE (a mounted file). Secrets have no defaults.
"""

import logging
import os
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict

from dnspanel.environment import envbool, envlist, envnetworks, envnumbers, envquotas, envseconds, envsecret, envstr
from dnspanel.languages import LANGUAGE_CODES
from dnspanel.languages import LANGUAGES as OUR_LANGUAGES
from dnspanel.periodic_work import CELERY_BEAT_SCHEDULE as CELERY_BEAT_SCHEDULE
from replication.log_lines import FORMATS, TEXT, LineFormatter, WithoutTraceback

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(envstr("PANEL_VAR", str(BASE_DIR / "var")))
SECRET_KEY = envsecret("PANEL_SECRET_KEY")
# Encrypts private keys at rest (a Fernet key). It is not SECRET_KEY, so that each can be rotated separately.
MASTER_KEY = envsecret("PANEL_MASTER_KEY")
# Former keys, separated by commas or line breaks. They only decrypt, until `rotate_master_key` has finished.
MASTER_KEYS_OLD = envsecret("PANEL_MASTER_KEY_OLD", "").replace(",", " ").split()
# The password of the demo's people, which its sign-in page shows. Only the demo sets it.
DEMO_PASSWORD = envsecret("PANEL_DEMO_PASSWORD", "")
DEBUG = envbool("PANEL_DEBUG", default=False)
# docker-compose.yml sets PANEL_URL to "" if only the port is given.
PANEL_URL = (envstr("PANEL_URL", "") or f"http://127.0.0.1:{os.environ.get('PANEL_PORT') or 8000}").rstrip("/")
# The URL at which the collector checks the proxy, if it is not the one that people use.
PROXY_URL = envstr("PANEL_PROXY_URL", "") or PANEL_URL
ALLOWED_HOSTS = envlist("PANEL_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
BEHIND_TLS = PANEL_URL.startswith("https://")
CSRF_TRUSTED_ORIGINS = [PANEL_URL]
# Networks of reverse proxies. X-Forwarded-For is trusted only from these.
TRUSTED_PROXIES = envlist("PANEL_TRUSTED_PROXIES", "")

# Zone policy
ALLOW_LUA_RECORDS = envbool("PANEL_ALLOW_LUA_RECORDS", default=False)
# The resolver that nodes use for ALIAS, unless their group has its own. Without a resolver, ALIAS is refused.
ALIAS_RESOLVER = envstr("PANEL_ALIAS_RESOLVER", "")
# The recursive resolvers that find the parents of signed zones, as address or address:port. Empty: the system's.
DNS_RESOLVERS = envlist("PANEL_DNS_RESOLVERS", "")
# The public resolvers whose answers people can look at, in the same form. Empty: only those of nodes.
PUBLIC_RESOLVERS = envlist("PANEL_PUBLIC_RESOLVERS", "")
# DS records of the root (KSK-2017 and KSK-2024) for the validation of signed zones. Empty: no validation.
TRUST_ANCHORS = envlist(
    "PANEL_TRUST_ANCHORS",
    "20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D,"
    "38696 8 2 683D2D0ACB8C9B712A1948B27F741219298D0A450D612C483AF444A4C0FB2B16",
)
DEFAULT_NAMESERVERS = envlist("PANEL_DEFAULT_NAMESERVERS", "ns1.example.net.,ns2.example.net.")
DEFAULT_HOSTMASTER = envstr("PANEL_DEFAULT_HOSTMASTER", "hostmaster.example.net.")
# Names that must not be zones, as rules of the Public Suffix List, and the path of a copy of that list.
REFUSED_SUFFIXES = envlist("PANEL_REFUSED_SUFFIXES", ".,*,in-addr.arpa,ip6.arpa")
PUBLIC_SUFFIX_LIST = envstr("PANEL_PUBLIC_SUFFIX_LIST", "")

# Whether nodes wait for ring 0 without a limit. Otherwise they wait for this number of seconds if it is unreachable.
RING0_REQUIRED = envbool("PANEL_RING0_REQUIRED", default=False)
RING0_PATIENCE = int(envstr("PANEL_RING0_PATIENCE", "60"))
# A refusal that ends within this time, for example during a restart of PowerDNS, does not stop a rollout.
REFUSAL_PATIENCE = int(envstr("PANEL_REFUSAL_PATIENCE", "15"))

# The requests per minute of a token that has no limit of its own.
API_REQUESTS_PER_MINUTE = int(envstr("PANEL_API_REQUESTS_PER_MINUTE", "12000"))
# True if every token can delete any number of zones without confirmation. Otherwise only tokens with that setting can.
TOKENS_DELETE_MANY = envbool("PANEL_TOKENS_DELETE_MANY", default=False)

# The quotas of a person and of a team without quotas of their own. `quota_amounts` defines the kinds.
PERSON_QUOTAS = envquotas(
    "PANEL_PERSON_QUOTAS", "zones=1000,rrsets=100000,operations=20000,drafts=50,tokens=100,imports=5,bytes=2G"
)
TEAM_QUOTAS = envquotas(
    "PANEL_TEAM_QUOTAS", "zones=5000,rrsets=100000,operations=20000,drafts=500,tokens=500,imports=20,bytes=10G"
)

# Webhooks may use https to public addresses and to these networks, and with OUTBOUND_HTTP also http.
OUTBOUND_NETWORKS = envnetworks("PANEL_OUTBOUND_NETWORKS", "")
OUTBOUND_HTTP = envbool("PANEL_OUTBOUND_HTTP", default=False)
# Imports, comparisons and queries to parents may use public addresses and these networks.
SOURCE_NETWORKS = envnetworks("PANEL_SOURCE_NETWORKS", "")
# OpenID Connect providers may have public addresses (over https) or addresses in these networks.
OIDC_NETWORKS = envnetworks("PANEL_OIDC_NETWORKS", "")
# Destinations of the audit log may have public addresses or addresses in these networks.
EVIDENCE_NETWORKS = envnetworks("PANEL_EVIDENCE_NETWORKS", "")
# Secondaries may have public addresses or addresses in these networks.
SECONDARY_NETWORKS = envnetworks("PANEL_SECONDARY_NETWORKS", "")
# Prometheus may read /metrics from these networks without a token.
METRICS_NETWORKS = envnetworks("PANEL_METRICS_NETWORKS", "")
# The address and port on which the gateway accepts DNS UPDATE and AXFR.
UPDATE_HOST = envstr("PANEL_UPDATE_HOST", "127.0.0.1")
UPDATE_PORT = int(envstr("PANEL_UPDATE_PORT", "5340"))
# The port for zone transfers over TLS (RFC 9103), 0: none. The certificate is this file or from its own authority.
UPDATE_TLS_PORT = int(envstr("PANEL_UPDATE_TLS_PORT", "0"))
UPDATE_TLS_CERTIFICATE = envstr("PANEL_UPDATE_TLS_CERTIFICATE", "")
UPDATE_TLS_KEY = envstr("PANEL_UPDATE_TLS_KEY", "")
# The gateway's addresses for the configuration of secondaries. For TLS, the default is these hosts with that port.
GATEWAY_ADDRESSES = envlist(
    "PANEL_GATEWAY_ADDRESSES",
    f"[{UPDATE_HOST}]:{UPDATE_PORT}" if ":" in UPDATE_HOST else f"{UPDATE_HOST}:{UPDATE_PORT}",
)
GATEWAY_TLS_ADDRESSES = envlist("PANEL_GATEWAY_TLS_ADDRESSES", "")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "dnspanel.accounts",
    "dnspanel.zones",
    "dnspanel.publish",
    "dnspanel.transfer",
    "dnspanel.fleet",
    "dnspanel.webhooks",
    "dnspanel.secondaries",
    "dnspanel.primaries",
    "dnspanel.catalogs",
    "dnspanel.audit.forward",
    "dnspanel.alerts",
    "dnspanel.backup",
    "dnspanel.monitoring",
    "dnspanel.api",
    "dnspanel.gateway",
    "dnspanel.web",
    "dnspanel.demo",
]

MIDDLEWARE = [
    "dnspanel.monitoring.health_view.HealthMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "dnspanel.web.frame.compressed_pages.CompressedPagesMiddleware",
    "dnspanel.api.compressed_answers.CompressedAnswersMiddleware",
    "dnspanel.accounts.audit.request_origin.RequestOriginMiddleware",
    "dnspanel.database.statement_time.StatementTimeMiddleware",
    "dnspanel.database.database_away.WritesMiddleware",
    "dnspanel.api.throttle.AllowanceHeadersMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "dnspanel.web.account.own_language.LanguageMiddleware",
    "dnspanel.web.account.signed_in.SignedInMiddleware",
    "dnspanel.web.frame.full_pages.FullPagesMiddleware",
]

ROOT_URLCONF = "dnspanel.urls"
WSGI_APPLICATION = "dnspanel.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "dnspanel.web.frame.layout.frame",
            ],
        },
    },
]

# Whether PANEL_DATABASE is a pooler such as PgBouncer, with session pooling. See `database.base`.
DATABASE_POOLER = envbool("PANEL_DATABASE_POOLER", default=False)


def _database(conninfo: str) -> dict[str, Any]:
    """Return Django's database settings for a libpq connection string or URL."""
    parts = conninfo_to_dict(conninfo)
    # PostgreSQL compiles (jit) a statement if its estimated cost is above a limit. For tables with few rows the
    # estimate is far too high: one query for the nodes took 0.47 s, and an edit took 2 s instead of 0.4 s to reach all
    # nodes. No statement of the panel is long enough to benefit. PANEL_DATABASE can still set jit.
    options = f"-c jit=off {parts.pop('options', '')}".rstrip()
    return {
        "ENGINE": "dnspanel.database",
        "NAME": parts.pop("dbname", ""),
        "USER": parts.pop("user", ""),
        "PASSWORD": parts.pop("password", ""),
        "HOST": parts.pop("host", ""),
        "PORT": str(parts.pop("port", "")),
        # Only for `prepared_statements`. Django's own cursors bind parameters on the client and prepare nothing.
        "OPTIONS": parts | {"prepare_threshold": 1, "options": options},
        "CONN_MAX_AGE": 0 if DATABASE_POOLER else 600,
        "CONN_HEALTH_CHECKS": True,
    }


# The time limit of one SQL statement in seconds; 0: none. See `statement_time`.
STATEMENT_SECONDS = envseconds(
    "PANEL_STATEMENT_SECONDS",
    # Pages and read requests of both APIs, without searches: as long as a browser waits.
    "read=30,"
    # Searches and filters: a person is waiting, and a longer search text is found faster.
    "search=5,"
    # Requests that change something. They can publish 200,000 records, or wait for another such request.
    "write=600,"
    # One unit of work of a Celery worker. Imports and deletions of millions of rows take long, but must end.
    "worker=3600,"
    # DNS UPDATE and AXFR: clients try again after some seconds.
    "gateway=30,"
    # Live numbers and their alerts: the next round starts within seconds.
    "collector=30,"
    # All other processes, for example commands: the time of migrations, restores and audits depends on the data.
    "command=0",
)
# How many seconds PostgreSQL may be silent, by kind of process; 0: no limit. A server that is only busy, or waits for a
# lock, still accepts a new connection. See `database.silence`.
SILENCE_SECONDS = envseconds(
    "PANEL_SILENCE_SECONDS",
    # Web processes: people and load balancers wait, and a waiting thread cannot serve other requests.
    "read=12,"
    # Celery workers: beat repeats failed work.
    "worker=60,"
    # DNS UPDATE and AXFR.
    "gateway=12,"
    # Live numbers and alerts.
    "collector=20,"
    # Commands: a slow server must not end a migration, only one that TCP finds unreachable.
    "command=60",
)
DATABASES = {"default": _database(envsecret("PANEL_DATABASE"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = envsecret("PANEL_REDIS_URL")
# Only for rate limits of sign-ins. They are in PostgreSQL, because signing in must not depend on Redis.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "accounts_limits",
        # Above this number, a third of the entries is deleted. It is high to keep made-up names from resetting counts.
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}

CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)  # kombu's name for a UNIX socket
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# In KiB: a larger process of imports and exports is replaced after its task. Workers with threads limit themselves
# (`replication.garbage.Heap`).
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 512 << 10
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A worker that gives up would have to be restarted, so it retries as long as Redis is unreachable, ...
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# ... or refuses writes. A full Redis used to end workers while they recorded their message (celery/celery#5716).
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 300,
    "socket_connect_timeout": 1,
    "socket_timeout": 5,
    # Without this, a message to an unreachable Redis is retried for six seconds, despite the task's own settings.
    "max_retries": 0,
}
# Without these, a web request that enqueues a task would hang if Redis is unreachable.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_DEFAULT_QUEUE = "push"
CELERY_TASK_ROUTES = {
    # The system's own work must not wait for work of people, which can be slow.
    "dnspanel.publish.tasks.make_snapshot": {"queue": "system"},
    "dnspanel.fleet.tasks.tend_log": {"queue": "system"},
    "dnspanel.fleet.tasks.tend_hold": {"queue": "system"},
    "dnspanel.zones.tasks.run_policies": {"queue": "bulk"},
    "dnspanel.zones.tasks.run_changes": {"queue": "bulk"},
    "dnspanel.zones.tasks.*": {"queue": "system"},
    "dnspanel.api.tasks.*": {"queue": "system"},
    "dnspanel.transfer.tasks.forget_old_files": {"queue": "system"},
    "dnspanel.transfer.tasks.keep_addresses": {"queue": "system"},
    "dnspanel.transfer.tasks.drive_transfers": {"queue": "push"},
    # Requested by a person, and not repeated by beat.
    "dnspanel.fleet.tasks.check_node": {"queue": "system"},
    "dnspanel.fleet.tasks.bootstrap_node": {"queue": "bootstrap"},
    "dnspanel.publish.*": {"queue": "publish"},
    "dnspanel.fleet.*": {"queue": "push"},
    "dnspanel.webhooks.*": {"queue": "push"},
    "dnspanel.secondaries.*": {"queue": "push"},
    "dnspanel.primaries.*": {"queue": "push"},
    "dnspanel.catalogs.*": {"queue": "push"},
    "dnspanel.audit.forward.*": {"queue": "push"},
    "dnspanel.alerts.*": {"queue": "push"},
    "dnspanel.transfer.tasks.read_import": {"queue": "sources"},
    "dnspanel.transfer.tasks.run_cutover_check": {"queue": "sources"},
    "dnspanel.transfer.*": {"queue": "bulk"},
}
# Celery closes the database connection around every task. With this, tasks keep it as long as CONN_MAX_AGE allows.
CELERY_DB_REUSE_MAX = 2**31

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["dnspanel.api.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["dnspanel.api.authentication.HasToken"],
    "DEFAULT_THROTTLE_CLASSES": ["dnspanel.api.throttle.TokenThrottle"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "dnspanel.api.v2.schema.document.Operations",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,  # else `?format=xml` would be 404, and no operation has such a parameter
}

# The OpenAPI document of API v2. API v1 uses PowerDNS's own document.
SPECTACULAR_SETTINGS = {
    "TITLE": "dnspanel API v2",
    "VERSION": "2.0.0",
    "OAS_VERSION": "3.1.1",
    "DESCRIPTION": "Zones, records and the servers that answer for them. Each operation names the permission or right "
    "that it needs. The token and its owner must both have it. Resources that a token must not see return 404. "
    "Every write accepts an `Idempotency-Key`. Errors are problems (RFC 9457), and lists have pages.",
    "SCHEMA_PATH_PREFIX": "/api/v2",
    # Requests list what is required, and responses contain everything, so an object has two schemas.
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "SORT_OPERATION_PARAMETERS": False,
    "ENABLE_DJANGO_DEPLOY_CHECK": False,
    "PREPROCESSING_HOOKS": ["dnspanel.api.v2.schema.document.only_v2"],
    "POSTPROCESSING_HOOKS": [
        "dnspanel.api.v2.schema.webhook_events.add_webhooks",
        "dnspanel.api.v2.schema.dry_runs.add_plans",
        "dnspanel.api.v2.schema.document.add_what_all_have",
    ],
}


def _segments_storage() -> dict[str, Any]:
    """Return the settings of the storage `segments`.

    The storage is a bucket of an S3-compatible service if PANEL_SEGMENTS_S3_BUCKET is set, otherwise a directory.
    """
    bucket = envstr("PANEL_SEGMENTS_S3_BUCKET", "")
    if not bucket:
        location = {"location": str(VAR_DIR / "segments")}
        return {"BACKEND": "dnspanel.publish.storage.objects.DurableDirectory", "OPTIONS": location}
    options = {
        "bucket_name": bucket,
        "endpoint_url": envstr("PANEL_SEGMENTS_S3_ENDPOINT", "") or None,
        "region_name": envstr("PANEL_SEGMENTS_S3_REGION", "") or None,
        "location": envstr("PANEL_SEGMENTS_S3_PREFIX", ""),
        "access_key": envsecret("PANEL_SEGMENTS_S3_ACCESS_KEY"),
        "secret_key": envsecret("PANEL_SEGMENTS_S3_SECRET_KEY"),
    }
    return {"BACKEND": "dnspanel.publish.storage.bucket.Bucket", "OPTIONS": options}


# Segments and snapshots are in `segments`.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    "segments": _segments_storage(),
}
# The number of days that the log is kept for unreachable nodes. After a longer absence, a node gets a snapshot.
LOG_DAYS = int(envstr("PANEL_LOG_DAYS", "7"))
# Whether nodes count the questions for each RRset. The panel keeps the counts for 100 days.
COUNT_QUERIES = envbool("PANEL_COUNT_QUERIES", default=False)
# The days for which history is kept; 0: for ever. See `zones.log.prune_history` and `zones.audit.prune_links`.
KEEP_DAYS = envseconds("PANEL_KEEP_DAYS", "history=0,dynamic=90,audit=0,imports=0")
if any(0 < days < 30 for days in KEEP_DAYS.values()):
    raise ImproperlyConfigured("PANEL_KEEP_DAYS: keep everything for at least 30 days, or 0 for ever.")
PUBLISHER_DIR = VAR_DIR / "publisher"
# Uploads, spools and stages of imports, and finished exports. Web processes and bulk workers share this folder.
TRANSFER_DIR = Path(envstr("PANEL_TRANSFER_DIR", str(VAR_DIR / "transfer")))
# The number of bulk workers that share the work of one import.
TRANSFER_PROCESSES = int(envstr("PANEL_TRANSFER_PROCESSES", str(os.cpu_count() or 1)))
# For forms with zone files: pasted text, the texts of failed zones, and many files at once without JavaScript.
DATA_UPLOAD_MAX_MEMORY_SIZE = 12 << 20
DATA_UPLOAD_MAX_NUMBER_FILES = 10_000
# The PowerDNS LMDB schemas that the fleet uses: 4 for 4.7, 5 for 4.8 and 4.9, 6 for 5.x.
SCHEMAS = envnumbers("PANEL_SCHEMAS", "4")

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "dnspanel.accounts.sign_in.password_backend.PasswordBackend",
    "dnspanel.accounts.providers.ldap.backend.LdapBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_ADAPTER = "dnspanel.accounts.sign_in.adapter.PanelAccountAdapter"
ACCOUNT_SESSION_REMEMBER = None
# Wrong passwords from one address, and by `sign_ins.tries_key`, whose window is a person's longest wait. Sign-ins
# through OpenID Connect from one address, possibly of a whole office; each creates a session and audit entries.
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/300s/key", "oidc": "300/m/ip"}
SOCIALACCOUNT_ADAPTER = "dnspanel.accounts.providers.oidc.oidc_adapter.PanelSocialAccountAdapter"

# For links to set a password, sent by email or by administrators.
PASSWORD_RESET_TIMEOUT = 86_400
# Second factors. Invitations replace the verification of addresses, and `web.frame.confirm` asks for passwords again.
MFA_ADAPTER = "dnspanel.accounts.sign_in.mfa_adapter.PanelMFAAdapter"
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_REAUTHENTICATION_REQUIRED = False
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_TOTP_TOLERANCE = 1  # allowed clock difference, in steps of 30 seconds

# The mail server of alerts. Without one, alerts go only to webhooks.
MAIL_TLS = envstr("PANEL_MAIL_TLS", "starttls")  # starttls, tls or no
EMAIL_HOST = envstr("PANEL_MAIL_HOST", "")
EMAIL_PORT = int(envstr("PANEL_MAIL_PORT", {"tls": "465", "starttls": "587"}.get(MAIL_TLS, "25")))
EMAIL_HOST_USER = envstr("PANEL_MAIL_USER", "")
EMAIL_HOST_PASSWORD = envsecret("PANEL_MAIL_PASSWORD", "")
EMAIL_USE_TLS, EMAIL_USE_SSL = MAIL_TLS == "starttls", MAIL_TLS == "tls"
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = envstr("PANEL_MAIL_FROM", "dnspanel@localhost")
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'console'}.EmailBackend"

SESSION_ENGINE = "dnspanel.accounts.sessions.session_store"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
SESSION_COOKIE_HTTPONLY = True
# Sessions end after this time without activity. The refreshes of live parts of a page are not activity.
SESSION_IDLE_MINUTES = int(envstr("PANEL_SESSION_IDLE_MINUTES", "480"))
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 31_536_000 if BEHIND_TLS else 0
SECURE_SSL_REDIRECT = False
if BEHIND_TLS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "manifest-src": ["'self'"],
    }
}

LANGUAGE_CODE = "en"
# For emails to several recipients, and for people who have not chosen a language.
DEFAULT_LANGUAGE = envstr("PANEL_LANGUAGE", "en")
if DEFAULT_LANGUAGE not in LANGUAGE_CODES:
    raise ImproperlyConfigured(f"PANEL_LANGUAGE must be one of {', '.join(sorted(LANGUAGE_CODES))}.")
LANGUAGES = OUR_LANGUAGES
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
STATIC_URL = "static/"
STATIC_ROOT = Path(envstr("PANEL_STATIC_ROOT", str(VAR_DIR / "static")))
STATICFILES_DIRS = [BASE_DIR / "static"]

# How all processes write their log lines: text or json. See `replication.log_lines`.
LOG_FORMAT = envstr("PANEL_LOG_FORMAT", TEXT)
if LOG_FORMAT not in FORMATS:
    raise ImproperlyConfigured(f"PANEL_LOG_FORMAT must be one of {', '.join(FORMATS)}.")
logging.captureWarnings(capture=True)  # Python's warnings are log lines too
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": LineFormatter, "form": LOG_FORMAT}},
    "filters": {"line": {"()": WithoutTraceback}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "dnspanel": {"level": "INFO"},
        "replication": {"level": "INFO"},
        "django.request": {"level": "ERROR"},
        # A wrong Host header is a fault of the client or of the proxy, so its traceback would only hide other lines.
        "django.security.DisallowedHost": {"filters": ["line"]},
        # Each of the panel's steps logs its own line, so "received" and "succeeded" would only cost time.
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
    },
}

# The names of settings from the environment. The settings page shows that they cannot be changed there.
FIXED_BY_ENVIRONMENT = frozenset(name.removesuffix("_FILE") for name in os.environ if name.startswith("PANEL_"))
