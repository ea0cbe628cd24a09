/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program that uses libtracesmith and the tsdb that works for it say to each other, over a
 * socket. The program asks, tsdb answers, one question at a time. tsdb first answers without having
 * been asked: whether it could open what its command line names; the data is then DOOR_GREETING.
 * Both run on one machine: numbers are in its byte order.
 */
#ifndef DOOR_DOOR_H
#define DOOR_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changed with everything below that a tsdb or a library of another version would misread. */
#define DOOR_GREETING "tracesmith door 3"

enum door_op {
	DOOR_COMMAND = 1, /* lines of the shell; the data is what they print */
	DOOR_TOOL,	  /* words of a tool, each ended by 0: "diff", "a.sbt", "b.sbt"; likewise */
	DOOR_READ,	  /* n bytes of memory at addr */
	DOOR_WRITE,	  /* the bytes that follow to addr */
	/* Python in the shell asks the shell these, too; n of a command: 1, it wants the text */
	DOOR_PRINT, /* shows a text; no answer */
	DOOR_DONE,  /* what it was to do is done; n 1: and failed, the data says why; else lines for
		       the shell to run; no answer */
	DOOR_PRINTERS, /* the types that its printers are for, lines; the first that matches counts;
			  no answer */
};

struct door_question {
	uint32_t op;
	uint32_t reserved; /* 0 */
	uint64_t addr, n;
	uint64_t size; /* bytes that follow */
};
/* What follows: the error's sentence, its cure, notes (what tsdb would print on stderr), the stop
 * at which the question's last move ended, if there was one (the JSON object `stop`), data. */
struct door_answer {
	uint32_t code; /* enum err_code */
	uint32_t what, cure, notes, stop;
	uint32_t works; /* 1: this is no answer yet, the data is a struct door_progress */
	uint64_t size;
};
/* How far long work is; comes several times a second at most. */
struct door_progress {
	uint64_t done, total; /* total 0: not known */
	char what[48];	      /* "exploring" */
};

enum { DOOR_PIECE = 16 << 20 };		    /* most bytes of DOOR_READ, and behind a question */
enum { DOOR_TEXT_MAX = 1 << 20 };	    /* most bytes of what, cure, notes, stop */
#define DOOR_ANSWER_MAX ((uint64_t)4 << 30) /* most bytes of data */

/* All n bytes, or false with errno; 0 as errno: the other end has closed the socket. No SIGPIPE. */
bool door_send(int fd, const void *bytes, size_t n);
bool door_receive(int fd, void *bytes, size_t n);

#endif
