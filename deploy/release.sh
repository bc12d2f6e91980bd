#!/usr/bin/env bash
# Make the artefacts of a release in dist/release-VERSION: `./dev release` runs this. HEAD must have the tag of the release.
#
#   debian12/ debian13/    the packages, as deploy/debian/build.sh writes them, with their SBOMs
#   dnspanel_agent-*.whl   the agent without a package
#   dnspanel-VERSION.tar.gz  the source of the tag
#   NOTES.md               the section of CHANGELOG.md
#   SHA256SUMS             of all files above
#
#   release.sh --check     only look whether a release can be made of this checkout
set -euo pipefail
umask 022
cd "$(dirname "$(readlink -f "$0")")/.."

refuse() {
    echo "No release: $*" >&2
    exit 1
}

# The section of a version in CHANGELOG.md, without its heading.
notes_of() {
    awk -v heading="## [$1] - " '
        index($0, "## ") == 1 { if (inside) exit; inside = index($0, heading) == 1; next }
        inside { print }
    ' CHANGELOG.md | sed -e '/./,$!d'
}

changed=$(git -c safe.directory='*' status --porcelain)
[ -z "$changed" ] || refuse "the work tree has changes that are not committed:
$changed"
version=$(/usr/bin/python3 replication/version.py)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] ||
    refuse "this commit is $version. Create a tag first, such as: git tag --sign --message 'dnspanel 1.0.0' v1.0.0"
notes=$(notes_of "$version")
[ -n "$notes" ] || refuse "CHANGELOG.md has no section “## [$version] - $(date --utc +%Y-%m-%d)” with a text."
[ "${1:-}" != --check ] || { echo "$version can be released."; exit 0; }

out=$PWD/dist/release-$version
rm -rf "$out"
mkdir -p "$out"
.venv/bin/python deploy/agent/build.py "$out"
deploy/debian/build.sh 12 13
for number in 12 13; do cp -r "dist/debian$number" "$out/"; done
git -c safe.directory='*' archive --format=tar --prefix="dnspanel-$version/" HEAD | gzip -9n >"$out/dnspanel-$version.tar.gz"
echo "$notes" >"$out/NOTES.md"
(cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
echo "$out:"
(cd "$out" && cut -d ' ' -f 3 SHA256SUMS)
