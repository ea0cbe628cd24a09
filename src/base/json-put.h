/* SPDX-License-Identifier: Apache-2.0
 *
 * A struct as a JSON object. A table says of each member what it is called and what it is; js_put()
 * writes the object from it, docs/json.md has the same tables, and a test compares the two and
 * checks what every command prints. Numbers are exact integers; addresses, handles and masks are
 * "0x12ab", because many readers hold numbers in a double; what is not known is null. Whatever the
 * bytes of a text are, the output is valid UTF-8. Everything is appended to a buffer, so that a
 * long list can go out piece by piece.
 */
#ifndef TS_JSON_PUT_H
#define TS_JSON_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

enum js_type {
	JS_END,	    /* behind the last field */
	JS_UINT,    /* unsigned, of 1, 2, 4 or 8 bytes, or an enum */
	JS_INT,	    /* signed, of 4 or 8 bytes */
	JS_ID,	    /* as JS_UINT; all ones: null */
	JS_SEQ,	    /* uint64_t, a command's number; 0: null */
	JS_HEX,	    /* as JS_UINT: "0x12ab" */
	JS_BOOL,    /* bool */
	JS_REAL,    /* double; not finite: null */
	JS_TEXT,    /* const char *; NULL: null */
	JS_CHARS,   /* char[] with a NUL */
	JS_BLOB,    /* struct js_blob, a text */
	JS_BYTES,   /* uint8_t[]: hex digits */
	JS_NAMED,   /* as JS_UINT: what named() calls it */
	JS_U32S,    /* uint32_t[]: a list of numbers */
	JS_NUMBERS, /* uint64_t *, or const uint64_t *, and their count: a list of numbers */
	JS_OBJECT,  /* a struct */
	JS_POINTER, /* to a struct; NULL: null */
	JS_ARRAY,   /* structs[] */
	JS_LIST,    /* pointer to structs, and their count */
	JS_CALL,    /* call() writes it */
};

/* As struct sbt_blob. */
struct js_blob {
	const void *p;
	uint64_t len;
};

struct js_field {
	const char *name; /* NULL: not in JSON */
	enum js_type type;
	bool optional; /* left out in place of null */
	uint16_t offset, size;
	uint16_t count_offset, count_size; /* JS_NUMBERS, JS_LIST */
	const struct js_object *of;	   /* JS_OBJECT to JS_LIST */
	const char *(*named)(uint64_t v);
	void (*call)(struct buf *out, const void *member);
	const char *as; /* JS_CALL: what docs/json.md says it is */
};

struct js_object {
	const char *name; /* as docs/json.md calls it */
	size_t size;	  /* of the struct */
	const struct js_field *fields;
	size_t stride; /* from field to field; 0: they are an array */
};

#define JS_MEMBER(T, m) .offset = offsetof(struct T, m), .size = sizeof(((struct T *)0)->m)
/* Member m of struct T, a JS_`t`, called n. */
#define JS_AS(n, t, T, m)                                                                          \
	{                                                                                          \
		.name = n, .type = JS_##t, JS_MEMBER(T, m)                                         \
	}
/* Members of struct T, up to eight, all of them a JS_`t`, each called as it is; JS_IN: members of
 * its member p. */
#define JS(t, T, ...) JS_PICK(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1)(JS_M, t, T, , __VA_ARGS__)
#define JS_IN(t, T, p, ...)                                                                        \
	JS_PICK(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1)(JS_MP, t, T, p, __VA_ARGS__)
#define JS_M(t, T, p, m) JS_AS(#m, t, T, m)
#define JS_MP(t, T, p, m) JS_AS(#m, t, T, p.m)
#define JS_PICK(_1, _2, _3, _4, _5, _6, _7, _8, n, ...) JS_##n
#define JS_1(f, t, T, p, m) f(t, T, p, m)
#define JS_2(f, t, T, p, m, ...) f(t, T, p, m), JS_1(f, t, T, p, __VA_ARGS__)
#define JS_3(f, t, T, p, m, ...) f(t, T, p, m), JS_2(f, t, T, p, __VA_ARGS__)
#define JS_4(f, t, T, p, m, ...) f(t, T, p, m), JS_3(f, t, T, p, __VA_ARGS__)
#define JS_5(f, t, T, p, m, ...) f(t, T, p, m), JS_4(f, t, T, p, __VA_ARGS__)
#define JS_6(f, t, T, p, m, ...) f(t, T, p, m), JS_5(f, t, T, p, __VA_ARGS__)
#define JS_7(f, t, T, p, m, ...) f(t, T, p, m), JS_6(f, t, T, p, __VA_ARGS__)
#define JS_8(f, t, T, p, m, ...) f(t, T, p, m), JS_7(f, t, T, p, __VA_ARGS__)
#define JS_MAYBE(n, t, T, m)                                                                       \
	{                                                                                          \
		.name = n, .type = JS_##t, JS_MEMBER(T, m), .optional = true                       \
	}
/* t: OBJECT, POINTER or ARRAY. */
#define JS_OF(n, t, T, m, object)                                                                  \
	{                                                                                          \
		.name = n, .type = JS_##t, JS_MEMBER(T, m), .of = &(object)                        \
	}
#define JS_COUNT(T, c)                                                                             \
	.count_offset = offsetof(struct T, c), .count_size = sizeof(((struct T *)0)->c)
#define JS_LIST_OF(n, T, m, c, object)                                                             \
	{                                                                                          \
		.name = n, .type = JS_LIST, JS_MEMBER(T, m), JS_COUNT(T, c), .of = &(object)       \
	}
#define JS_NUMBERS_OF(n, T, m, c)                                                                  \
	{                                                                                          \
		.name = n, .type = JS_NUMBERS, JS_MEMBER(T, m), JS_COUNT(T, c)                     \
	}
#define JS_BY(n, T, m, fn, what)                                                                   \
	{                                                                                          \
		.name = n, .type = JS_CALL, JS_MEMBER(T, m), .call = fn, .as = what                \
	}
/* m is a pointer; with NULL there the field is left out. */
#define JS_MAYBE_BY(n, T, m, fn, what)                                                             \
	{                                                                                          \
		.name = n, .type = JS_CALL, JS_MEMBER(T, m), .call = fn, .as = what,               \
		.optional = true                                                                   \
	}

/* The object `ident` for struct T: its fields follow. It is listed, so that the test of
 * docs/json.md finds it. */
#define JS_DEFINE(ident, what, T, ...)                                                             \
	static const struct js_field ident##_fields[] = {__VA_ARGS__, {.type = JS_END}};           \
	static const struct js_object ident = {what, sizeof(struct T), ident##_fields, 0};         \
	JS_LISTED(ident)
#define JS_LISTED(ident)                                                                           \
	static const struct js_object *const ident##_listed                                        \
		__attribute__((section("js_objects"), used)) = &(ident)

/* Every listed object of this program: from the first up to, not including, the last. */
extern const struct js_object *const __start_js_objects[], *const __stop_js_objects[];

/* The member that f is of, a JS_UINT, JS_ID, JS_SEQ, JS_HEX, JS_BOOL or JS_NAMED. */
uint64_t js_number(const struct js_field *f, const void *row);
/* One value of the member that f is of. */
void js_value(struct buf *out, const struct js_field *f, const void *row);
/* The members, without braces. */
void js_members(struct buf *out, const struct js_object *o, const void *row);
void js_put(struct buf *out, const struct js_object *o, const void *row);
/* js_put() as the next of a list, behind "[" or "[..". Where the whole buffer is a list, each
 * object has a line of its own; else all is one line. */
void js_add(struct buf *out, const struct js_object *o, const void *row);
/* n bytes as a string with its quotes, always valid UTF-8: what is not UTF-8 becomes U+FFFD. */
void js_bytes(struct buf *out, const void *text, size_t n);
void js_u64(struct buf *out, uint64_t v);
/* The same to where there is room for JS_DIGITS bytes; returns where it ends. */
enum { JS_DIGITS = 20 };
uint8_t *js_digits(uint8_t *to, uint64_t v) __attribute__((returns_nonnull));
/* text; NULL: null. */
void js_text(struct buf *out, const char *text);
/* A struct buf of JSON, for JS_BY(); empty: null. */
void js_raw(struct buf *out, const void *buf);

#endif
