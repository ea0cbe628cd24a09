/* SPDX-License-Identifier: Apache-2.0
 *
 * The server: connections on 127.0.0.1, what of a request is checked before anything is done with
 * it, answers. One thread: nothing here waits. Every connection has one request, and a limit of
 * time to send it, so that nobody holds the others up.
 */
#ifndef STUDIO_STUDIO_HTTP_H
#define STUDIO_STUDIO_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

struct http;
struct http_request;

struct http_hooks {
	void *arg;
	/* A request that may be answered: at once, or later, by http_answer(). */
	void (*ask)(void *arg, struct http_request *r, const char *body, size_t n);
	void (*events)(void *arg, struct http_request *r, uint64_t after);
	void (*trace)(void *arg, struct http_request *r);
	/* It is freed now, answered or not: forget it. */
	void (*gone)(void *arg, struct http_request *r);
	/* A connection of this user was refused; the first one alone. */
	void (*stranger)(void *arg, unsigned uid);
};

/* Listens on 127.0.0.1; port 0: a free one. token: 32 hex digits. hooks and token outlive it.
 * any_user: the token alone decides who may ask; else connections of other users than this
 * process's and root are refused, where the kernel says whose they are. */
struct err *http_open(struct http **ret, uint16_t port, const char *token, bool any_user,
	const struct http_hooks *hooks) TS_CHECK;
/* All requests have to be answered; what cannot be sent at once is not. */
void http_close(struct http *h); /* NULL is fine */
uint16_t http_port(const struct http *h);
/* Wait until this descriptor is ready, or for that many ms; then http_turn(). */
int http_fd(const struct http *h);
int http_timeout(struct http *h);
void http_turn(struct http *h);

/* Once for each request. text: n bytes of JSON, which are copied. */
void http_answer(struct http_request *r, unsigned status, const void *text, size_t n);
/* The whole file that fd is open on. */
void http_answer_page(struct http_request *r, int fd);

#endif
