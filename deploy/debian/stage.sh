# Run by build.sh inside a chroot: write the trees that the packages consist of into /stage.
#
#   /source    the checkout's files, which stay unchanged
#   /cache     kept from build to build
#   /stage     the result: panel/, agent/, front/ and cli/, each as it will be below /usr/lib, and files/
#
# A tree is a virtual environment at its final path: the system's python3, the locked packages and our code. So the target
# needs no pip, and Debian's own Python packages cannot get in between.
version=$1
python=$(python3 -c 'import sys; print(f"python3.{sys.version_info.minor}")')

# install_tree NAME LOCK: the environment with the locked packages, from the cache if the lock is the same.
install_tree() {
    local name=$1 lock=$2 prefix=/usr/lib/$1 kept recipe
    kept=/cache/$name.tar
    recipe="$(sed "/^compile()/,\$d" /source/deploy/debian/stage.sh | cat - "/source/requirements/$lock.txt" | sha256sum)"
    rm -rf "$prefix"
    if [ "$(cat "$kept.recipe" 2>/dev/null)" != "$recipe" ]; then
        echo "Installing requirements/$lock.txt"
        python3 -m venv "$prefix"
        # Without debug information the result does not depend on pip's temporary directories.
        CFLAGS=-g0 "$prefix/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-warn-script-location \
            --require-hashes --requirement "/source/requirements/$lock.txt"
        "$prefix/bin/pip" --disable-pip-version-check --quiet uninstall --yes pip setuptools 2>/dev/null ||
            "$prefix/bin/pip" --disable-pip-version-check --quiet uninstall --yes pip
        rm -rf "$prefix/lib64" "$prefix/include" "$prefix"/bin/[Aa]ctivate* "$prefix"/bin/pip* "$prefix/.gitignore"
        tidy "$prefix"
        tar --create --file="$kept" --directory=/usr/lib "$name"
        echo "$recipe" >"$kept.recipe"
    else
        tar --extract --file="$kept" --directory=/usr/lib
    fi
}

# Leave out what no process of ours reads.
tidy() {
    local packages=$1/lib/$python/site-packages
    find "$1" -name __pycache__ -prune -exec rm -rf {} +
    # Boto has the description of every service of AWS. Segments are in S3, and STS gives credentials for it.
    if [ -d "$packages/botocore/data" ]; then
        find "$packages/botocore/data" -mindepth 1 -maxdepth 1 -type d ! -name s3 ! -name sts ! -name 'sso*' -exec rm -rf {} +
    fi
    # It names the command line of pip, which differs.
    find "$packages" -path '*.dist-info/direct_url.json' -delete
    find "$packages" -name '*.so*' -type f -exec strip --strip-unneeded {} +
}

# The same bytes each time: names in sets are compiled in the order of their hashes. Such a file is valid for its source
# whatever that file's time is, so nothing is compiled on the target.
compile() {
    PYTHONHASHSEED=0 python3 -m compileall -q -j 1 --invalidation-mode unchecked-hash -s "$1" -p "$2" "$1"
}

# finish TREE: modes that do not depend on a umask or on a wheel.
finish() {
    find "$1" -type d -exec chmod 755 {} +
    find "$1" -type f -perm /111 -exec chmod 755 {} +
    find "$1" -type f ! -perm /111 -exec chmod 644 {} +
    find "$1" -type f \( -name '*.so*' -o -name '*.pyc' -o -name '*.py' \) ! -path '*/libexec/*' -exec chmod 644 {} +
}

# copy_code TREE NAMES: our code, and the version that it has.
copy_code() {
    local tree=$1 each
    shift
    for each in "$@"; do cp -r "/source/$each" "$tree/"; done
    python3 -B "$tree/replication/version.py" --write "$version" >/dev/null
    echo "$tree" >"$tree/lib/$python/site-packages/ours.pth"
}

# The panel
panel=/usr/lib/dnspanel
install_tree dnspanel panel
copy_code $panel dnspanel replication templates static locale manage.py LICENSE NOTICE
for catalog in $panel/locale/*/LC_MESSAGES/django.po; do
    msgfmt --output-file="${catalog%.po}.mo" "$catalog"
    rm "$catalog"
done
# The values given here are not kept.
PANEL_SECRET_KEY=build PANEL_MASTER_KEY=build PANEL_DATABASE=postgresql:// PANEL_REDIS_URL=redis:// \
    PANEL_STATIC_ROOT=$panel/collected PYTHONDONTWRITEBYTECODE=1 \
    $panel/bin/python3 $panel/manage.py collectstatic --noinput --verbosity 0 --skip-checks
mkdir -p $panel/nginx $panel/libexec
for each in nginx-pages http.conf proxy.conf site.conf; do cp -r "/source/deploy/nginx/$each" $panel/nginx/; done
cp /source/deploy/debian/package.env $panel/
cp /source/deploy/debian/programs/dnspanel-* $panel/libexec/

# The two agents: a front needs no PowerDNS, so neither package needs the other
for name in agent front; do
    tree=/usr/lib/dnspanel-$name
    install_tree dnspanel-$name agent
    copy_code "$tree" replication LICENSE NOTICE
    cp "/source/deploy/debian/programs/run-$name" "$tree/bin/dnspanel-$name"
done

# The command line: the files of the archive that a panel serves
cli=/usr/lib/dnspanel-cli
rm -rf $cli
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$panel $panel/bin/python3 -c '
import io, sys, zipfile
from dnspanel.cli_file import command_line
zipfile.ZipFile(io.BytesIO(command_line(""))).extractall(sys.argv[1])
' $cli
rm -f $cli/dnspanel/cli/built_for.txt

for name in panel agent front cli; do
    tree=/usr/lib/dnspanel-$name
    [ $name != panel ] || tree=$panel
    rm -rf "/stage/$name"
    cp -a "$tree" "/stage/$name"
    compile "/stage/$name" "$tree"
    finish "/stage/$name"
done
cp -r /source/deploy/debian /stage/files
# Debian has the text of the licence. NOTICE lists the parts of others, and each Python package has its own licence file.
{
    echo "On Debian systems, the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0."
    echo "The licences of the Python packages are in their *.dist-info directories below /usr/lib/dnspanel*."
    echo
    cat /source/NOTICE
} >/stage/files/copyright
finish /stage/files
chmod 755 /stage/files/scripts/* /stage/files/programs/* /stage/panel/libexec/* /stage/*/bin/*
