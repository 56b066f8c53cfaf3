# docker build -t gpflow-gi . && docker run --rm -v "$PWD/results:/results" gpflow-gi
FROM python:3.11-slim
WORKDIR /src
COPY pyproject.toml setup.py README.md LICENSE ./
COPY gpflow_gi gpflow_gi
RUN pip install --no-cache-dir .
WORKDIR /results
ENTRYPOINT ["gpflow-gi"]
CMD ["compare"]
