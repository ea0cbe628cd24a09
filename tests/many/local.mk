# SPDX-License-Identifier: Apache-2.0
#
# For machines with two GPUs; see tests/many/two-gpus and why-nccl. Not part of `make check`.

EXTRA_DIST += tests/many/allreduce.py tests/many/ddp.py tests/many/share.py
dist_noinst_SCRIPTS += tests/many/two-gpus tests/many/why-nccl
