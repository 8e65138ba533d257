# Litestream from its source, the executable from ours, and an image that holds these two and Debian's C library.
#
#   docker run -p 8080:8080 -v sealpost:/data --read-only IMAGE
#   docker run … -e LITESTREAM_REPLICA_URL=s3://… --stop-timeout 45 IMAGE litestream replicate -exec sealpost

# A tag may be moved to another image, a digest names one for ever: of these three for all architectures. For newer ones
# `docker buildx imagetools inspect golang:1.26-bookworm --format '{{.Manifest.Digest}}'` prints the digest.
ARG GOLANG=golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d
ARG NODE=node:20.20.2-bookworm@sha256:8f693eaa7e0a8e71560c9a82b55fd54c2ae920a2ba5d2cde28bac7d1c01c9ba5
ARG DEBIAN=debian:bookworm-slim@sha256:60eac759739651111db372c07be67863818726f754804b8707c90979bda511df

# Both executables are built on the architecture of the machine for that of the image, as emulating it takes many times as long:
#   docker buildx build --platform linux/amd64,linux/arm64 .
FROM --platform=$BUILDPLATFORM ${GOLANG} AS litestream
ARG TARGETARCH
ARG LITESTREAM_VERSION=v0.5.18
RUN CGO_ENABLED=0 GOARCH=${TARGETARCH} go install -trimpath -ldflags "-s -w -X main.Version=${LITESTREAM_VERSION}" \
      "github.com/benbjohnson/litestream/cmd/litestream@${LITESTREAM_VERSION}" \
 && find /go/bin -name litestream -exec mv {} /usr/local/bin/litestream \;
# SQLite before 3.51.3 can corrupt a database whose WAL is restarted under load (sqlite.org/wal.html#the_wal_reset_bug).
RUN bundled=$(grep -aoE '3\.[0-9]{2}\.[0-9]+' /usr/local/bin/litestream | sort -V | head -n 1); \
    echo "Litestream ${LITESTREAM_VERSION} bundles SQLite ${bundled:-unknown}"; \
    test -n "$bundled" && test "$(printf '%s\n' 3.51.3 "$bundled" | sort -V | head -n 1)" = 3.51.3

FROM --platform=$BUILDPLATFORM ${NODE} AS sealpost
ARG TARGETARCH
WORKDIR /build
# Bun in the version that package.json pins as `packageManager`.
COPY package.json bun.lock bunfig.toml ./
RUN npm install --global "$(node -p 'require("./package.json").packageManager')" \
 && bun install --frozen-lockfile --production --no-summary
COPY tsconfig.json ./
COPY drizzle drizzle
COPY src src
RUN bun src/platform/build.ts /build/dist/sealpost "bun-linux-$(echo "$TARGETARCH" | sed s/amd64/x64/)"

FROM ${DEBIAN}
RUN groupadd --gid 10001 sealpost \
 && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin sealpost \
 && install --directory --owner 10001 --group 10001 --mode 0700 /data
COPY --from=litestream /usr/local/bin/litestream /usr/local/bin/litestream
# Litestream verifies its bucket by the system's certificates; the service carries its own.
COPY --from=litestream /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=sealpost /build/dist/sealpost /usr/local/bin/sealpost
# What scanners find in Litestream and Debian by themselves, this list tells them of the executable.
COPY --from=sealpost /build/dist/sealpost.cdx.json /usr/local/share/sbom/sealpost.cdx.json
COPY litestream.yml /etc/litestream.yml

# Nothing is written outside the volume, so the root file system may be read-only. The working directory belongs to root:
# what a process finds there, nobody else has put there.
WORKDIR /
USER 10001:10001
ENV SEALPOST_DATA_DIR=/data
VOLUME /data
EXPOSE 8080

# The executable asks the service at the address that its settings name: the image has no curl.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["sealpost", "--check-health"]

# Both handle SIGTERM as the first process; neither leaves children behind.
CMD ["sealpost"]
