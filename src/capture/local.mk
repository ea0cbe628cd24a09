# SPDX-License-Identifier: Apache-2.0
#
# Room capture: the agent, libtsdb-agent.so.

HEADERS_TO_CHECK += src/capture/wire.h
