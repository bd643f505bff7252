# Frontrow without root, for a read-only root file system. See server/ops/README.md.
#
#   docker build --tag frontrow .
#   docker run --read-only --tmpfs /tmp --volume frontrow-data:/data --publish 127.0.0.1:8080:8080 frontrow

# For other versions see server/ops/README.md.
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-trixie-slim AS build
# On Node 20 better-sqlite3 is compiled from its source.
ARG NODE_VERSION
RUN case "$NODE_VERSION" in 20.*) apt-get update \
  && apt-get install --yes --no-install-recommends g++ make python3 \
  && rm -rf /var/lib/apt/lists/* ;; esac
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY . .
# The image has the headers of Node, so that nothing is downloaded but the packages.
RUN npm_config_nodedir=/usr/local npm run sqlite
# The packages at run time, and the files that the package lists.
RUN npm run build \
  && npm prune --omit=dev --ignore-scripts \
  && npm pack --ignore-scripts \
  && mkdir /app \
  && tar --extract --file frontrow-server-*.tgz --directory /app --strip-components=1 \
  && mv node_modules /app/ \
  && rm -rf /app/node_modules/better-sqlite3/build/Release/obj*

FROM node:${NODE_VERSION}-trixie-slim
RUN install --directory --owner=node --group=node --mode=0700 /data \
  && ln -s /app/dist/server/cli.js /usr/local/bin/frontrow
COPY --from=build /app /app
ENV NODE_ENV=production FRONTROW_HOST=0.0.0.0 FRONTROW_DATA=/data
USER node
VOLUME /data
EXPOSE 8080
# The process is up. While it recovers a large log it says so, too.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["frontrow"]
CMD ["serve"]
