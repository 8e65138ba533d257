#!/bin/sh
# The root of a machine for systemd, and systemd itself as its first process: systemd-boot.sh CHECKOUT
#
# It runs in namespaces of its own, for mounts, processes, network, names and control groups. All that is written goes
# into an overlay in memory, and only the units that this script makes are there: those of the host would clear its
# /tmp, rename its network's interfaces and more.
set -eu
[ $$ = 1 ] || { echo "only as the first process of namespaces of its own"; exit 1; }
mount --make-rprivate /
mount -t tmpfs -o mode=0755 tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
checkout=$(cd "$1" && pwd)
cd /mnt/root
for folder in run tmp var/lib var/tmp var/log etc/systemd/system dev; do
  mount -t tmpfs -o mode=0755 tmpfs "$folder"
done
chmod 1777 tmp var/tmp
mkdir dev/pts dev/shm run/checkout run/old
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
mount -t tmpfs tmpfs dev/shm
for device in null zero full random urandom tty; do
  : > "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount --bind "$checkout" run/checkout
for target in basic sysinit shutdown network-online multi-user; do
  printf '[Unit]\nDefaultDependencies=no\n' > "etc/systemd/system/$target.target"
done
pivot_root . run/old
cd /
umount -l /run/old
exec env -i PATH=/usr/local/bin:/usr/bin:/bin container=other SYSTEMD_UNIT_PATH=/etc/systemd/system \
  SYSTEMD_GENERATOR_PATH=/none SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/none \
  /lib/systemd/systemd --system --unit=multi-user.target --show-status=false
