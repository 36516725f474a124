# A small image of the command line: docker build -t treewarden . && docker run --rm -v "$PWD:/work" treewarden gate
# It runs the service too: docker run --rm --init -p 127.0.0.1:8321:8321 -v treewarden:/data treewarden \
#     serve --data-dir /data --host 0.0.0.0 --create-admin ann; with PostgreSQL and workers: see compose.yaml.
# What builds it stays behind in the first stage.
FROM python:3.12-slim AS build
COPY . /source
RUN python -m venv /opt/treewarden \
    && /opt/treewarden/bin/python -m pip --quiet --no-cache-dir --disable-pip-version-check install \
        --constraint /source/constraints.txt "/source[attest,excel,object-store,pdf,serve,statistics,telemetry]" \
    && /opt/treewarden/bin/python -m pip --quiet --disable-pip-version-check uninstall --yes pip

FROM python:3.12-slim
RUN useradd --create-home --uid 10001 treewarden \
    && install --directory --owner 10001 --mode 0700 /data /keys
COPY --from=build /opt/treewarden /opt/treewarden
ENV PATH="/opt/treewarden/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001
WORKDIR /work
ENTRYPOINT ["treewarden"]
CMD ["--help"]
