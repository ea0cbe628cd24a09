# SPDX-License-Identifier: Apache-2.0
#
# Room attach: the inferior.

noinst_LIBRARIES += libattach.a
libattach_a_SOURCES = src/attach/attach.h
HEADERS_TO_CHECK += src/attach/attach.h
