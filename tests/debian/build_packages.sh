#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# build_packages.sh: builds the packages of debian/ as an ordinary user on a fresh host, asks lintian
# for every fault of a package, and puts the packages into /mnt. debian.sh runs this script.
set -eu

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends build-essential lintian
apt-get build-dep -y -qq --no-install-recommends ./

# The build has no right that an ordinary user lacks, and cannot write what root has.
useradd --create-home builder
cp -r . /home/builder/rnicd
chown -R builder: /home/builder/rnicd
cd /home/builder/rnicd
# The suites that the packages run at their build run on one release; the use suites has more.
. /etc/os-release
[ "$VERSION_CODENAME" = trixie ] || export DEB_BUILD_OPTIONS=nocheck
# The builder has another python3 first in the PATH, which lacks the distribution's modules.
mkdir /home/builder/bin
printf '#!/bin/sh\necho "this is not /usr/bin/python3" >&2\nexit 1\n' >/home/builder/bin/python3
chmod 755 /home/builder/bin/python3
for version in /usr/bin/python3.*[0-9]; do
	cp /home/builder/bin/python3 "/home/builder/bin/${version##*/}"
done
runuser -u builder -- env PATH="/home/builder/bin:$PATH" \
	dpkg-buildpackage -us -uc -b -j"$(nproc)"

# The lintian of Debian 12 does not know the policy of Debian 13.
lintian --allow-root --fail-on error,warning,info --display-info \
	--suppress-tags newer-standards-version ../rnicd_*.changes
find .. -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' -exec cp -t /mnt {} +
