# A small image of the command line: docker build -t treewarden . && docker run --rm -v "$PWD:/work" treewarden gate
# What builds it stays behind in the first stage.
FROM python:3.12-slim AS build
COPY . /source
RUN python -m venv /opt/treewarden \
    && /opt/treewarden/bin/python -m pip --quiet --no-cache-dir --disable-pip-version-check install \
        --constraint /source/constraints.txt "/source[attest,pdf]" \
    && /opt/treewarden/bin/python -m pip --quiet --disable-pip-version-check uninstall --yes pip

FROM python:3.12-slim
RUN useradd --create-home --uid 10001 treewarden
COPY --from=build /opt/treewarden /opt/treewarden
ENV PATH="/opt/treewarden/bin:$PATH" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001
WORKDIR /work
ENTRYPOINT ["treewarden"]
CMD ["--help"]
