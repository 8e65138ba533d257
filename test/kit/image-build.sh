#!/usr/bin/env bash
# Carries out the Dockerfile: image-build.sh FOLDER CHECKOUT GOROOT MODULES CACHE
#
# Runs in a namespace of mounts of its own, with no daemon and no registry: what stands for the three bases is Debian as
# its packages make it, with the Go and the Node of this machine mounted into it. Go finds what this machine has compiled
# already. Leaves in FOLDER the image's files (root), what it says of itself (image.json), and the bytes of the base and of all (sizes).
set -euo pipefail
folder=$1 checkout=$2 goroot=$3 modules=$4 cache=$5
certificates=/etc/ssl/certs/ca-certificates.crt
in_store() { buildah --root "$folder/store" --runroot "$folder/run" "$@"; }

debian=$(in_store from scratch)
files=$(in_store mount "$debian")
mmdebstrap --quiet --variant=minbase bookworm "$files"
du --summarize --bytes "$files" >"$folder/sizes"
in_store commit --quiet --rm "$debian" localhost/debian

tools=$(in_store from localhost/debian)
files=$(in_store mount "$tools")
install -D --mode=0644 "$certificates" "$files$certificates"
mkdir -p "$files/usr/local/lib/node_modules"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$files/usr/local/bin/npm"
in_store config --env GOPATH=/go --env GOTOOLCHAIN=local --env "NODE_EXTRA_CA_CERTS=$certificates" \
  --env PATH=/usr/local/go/bin:/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$tools"
in_store commit --quiet --rm "$tools" localhost/tools

# The format of Docker: that of OCI has no health check.
in_store build --isolation chroot --network host --pull-never --format docker --tag localhost/sealpost \
  --build-arg GOLANG=localhost/tools --build-arg NODE=localhost/tools --build-arg DEBIAN=localhost/debian \
  --volume "$goroot:/usr/local/go:ro" --volume "$modules:/go/pkg/mod" --volume "$cache:/root/.cache/go-build" \
  --volume "$(node -p process.execPath):/usr/local/bin/node:ro" \
  --volume "$(npm root --global)/npm:/usr/local/lib/node_modules/npm:ro" \
  "$checkout"

in_store inspect --type image localhost/sealpost >"$folder/image.json"
cp --archive "$(in_store mount "$(in_store from localhost/sealpost)")" "$folder/root"
du --summarize --bytes "$folder/root" >>"$folder/sizes"
