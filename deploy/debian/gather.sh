# Run by build.sh inside a chroot: download the Debian packages that the packages in /stage need or recommend to /cache/debian.
#
#   gather.sh SUITE MIRROR [SECURITY_MIRROR]
#
# For apt, no package is installed. So it downloads even the basic ones, and the folder does for every machine of this release.
suite=$1 mirror=$2 security=${3:-}
for each in "$suite" "$suite-updates"; do echo "deb $mirror $each main"; done >/etc/apt/sources.list
[ -z "$security" ] || echo "deb $security $suite-security main" >>/etc/apt/sources.list
mkdir -p /cache/debian/partial
: >/tmp/status
apt() {
    apt-get -qq -o Dir::State::status=/tmp/status -o Dir::Cache::archives=/cache/debian -o APT::Sandbox::User=root "$@"
}
apt update
apt autoclean >/dev/null
for package in /stage/*.deb; do apt --download-only --yes install "$package" >/dev/null; done
