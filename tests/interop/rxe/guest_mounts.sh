# SPDX-License-Identifier: MIT
# shellcheck shell=dash
#
# The first steps of the first process of any guest, in its shell.
/bin/busybox --install -s /bin
export PATH=/usr/local/bin:/usr/bin:/bin:/sbin:/usr/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /var
ln -s /run /var/run
for folder in /run /tmp /dev/shm; do mount -t tmpfs -o mode=755 tmpfs $folder; done
ulimit -l unlimited
