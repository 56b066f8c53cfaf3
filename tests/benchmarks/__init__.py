"""Speed comparisons: programs to run, outside the tests.

All of them run on one thread, where times repeat best, or on as many as BENCH_THREADS says in the
environment. These settings must come before NumPy and TensorFlow are first imported; the processes
that a program starts inherit them.
"""

import os

THREADS = os.environ.setdefault("BENCH_THREADS", "1")
os.environ["OMP_NUM_THREADS"] = THREADS
os.environ["OPENBLAS_NUM_THREADS"] = THREADS
os.environ["TF_NUM_INTRAOP_THREADS"] = THREADS
os.environ["TF_NUM_INTEROP_THREADS"] = THREADS
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
