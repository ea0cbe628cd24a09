/* SPDX-License-Identifier: Apache-2.0
 *
 * The device under a replay: choosing it, opening it, and what the user changed in the run
 * (what-ifs). The device itself belongs to the replay engine, which closes it.
 */
#ifndef ENGINE_REPLAY_DEVICE_H
#define ENGINE_REPLAY_DEVICE_H

#include "replay/device.h"
#include "engine/engine.h"

#define REPLAY_STATUS_DIFFERS 3 /* exit status when a replay is not what was recorded */

/* The values of `set replay device`. */
enum replay_on {
	REPLAY_ON_AUTO,
	REPLAY_ON_SOFT, /* of the vendor whose program it was */
	REPLAY_ON_REAL,
	REPLAY_ON_NONE,
	REPLAY_ON_SOFT_AMD
};

struct replay_choice {
	enum replay_on on;
	unsigned window; /* which of the trace's windows, from 0 */
	bool touched, any_device;
	bool overlap;			 /* streams overlap: `set replay order concurrent` */
	bool no_sandbox;		 /* as with `set replay sandbox off` */
	bool quiet;			 /* no progress line */
	bool strict;			 /* with auto, a missing device is an error, too */
	const struct soft_probe *probes; /* that code is changed for; n 0: none */
	unsigned nprobes;
};

/* A parameter that the user replaced. */
struct replay_arg {
	uint64_t seq;
	uint32_t param, size;
	uint8_t bytes[64];
};

struct replay_device {
	struct device *d;
	uint64_t number;      /* no other replay of the engine has it; not 0 */
	uint64_t first, last; /* the window */
	struct replay_choice choice;
	bool soft, hip; /* a software GPU; AMD's */
	bool watches;	/* it tells what kernels touch, and finds races in them */
	bool shows;	/* it shows them from inside: the microscope, probes */
	bool what_if;	/* memory, parameters or code were changed */
	bool partial;	/* commands are left out */
	bool moves;	/* replay_move() is under way */
	struct replay_arg *args;
	unsigned nargs;
	uint32_t *swapped; /* kernels */
	unsigned nswapped;
	struct kernel_prints *prints; /* soft-settings.h; NULL: none yet */
};

/* The error of what needs a device that watches. what: "probes need". */
struct err *replay_device_lacks(const struct replay_device *rd, const char *what);
/* Parses a value of --on or `set replay device`. */
struct err *replay_on_parse(const char *word, enum replay_on *ret) TS_CHECK;
/* The choice made by `set replay device`, `set replay order` and `--gpu`. */
struct replay_choice replay_choice_default(const struct engine *en);
/* "fixed" or "concurrent". */
struct err *replay_order_parse(const char *word, bool *ret_overlap) TS_CHECK;
/* Applies a changed `set replay order` to the open device. */
struct err *replay_device_order(struct engine *en) TS_CHECK;
/* Checks what can be known before opening: ERR_INCOMPLETE, ERR_NOT_FOUND, ERR_STATE as below. */
struct err *replay_device_check(const struct engine *en, const struct replay_choice *c) TS_CHECK;
/* Opens the device for a window of the open trace. ERR_INCOMPLETE: the trace cannot be executed;
 * ERR_STATE or ERR_UNSUPPORTED: no such device here. All with the cure. Not for REPLAY_ON_NONE. */
struct err *replay_device_open(
	struct engine *en, const struct replay_choice *c, struct replay_device **ret) TS_CHECK;
/* Frees rd, but not its device, which belongs to the replay engine. NULL is fine. */
void replay_device_free(struct replay_device *rd);
/* "the software GPU", "the machine's GPU". */
const char *replay_device_name(const struct replay_device *rd);
/* The replay's device; without one ERR_STATE, with the cure. `what` names what needs a device. */
struct err *replay_device_need(
	struct engine *en, const char *what, struct replay_device **ret) TS_CHECK;
/* Appends a line if the device faulted in the recording: which command of the window caused that,
 * or may have. For a replay that succeeded. */
void replay_device_fault(const struct replay_device *rd, struct buf *out);
/* The device's notes (what cannot be repeated, doubts), a line each with an indent. */
void replay_device_notes(const struct replay_device *rd, const char *indent, struct buf *out);
/* Undoes all what-ifs: nothing is changed or left out any more. The device goes to the window's
 * start; the caller moves the engine. */
struct err *replay_device_restore(struct replay_device *rd) TS_CHECK;
/* Call this after moving the device without the engine: moves the device back to the engine's
 * position. If that fails, or if e is an error, it moves the engine to the device's position.
 * Returns e, or the new error. */
struct err *replay_device_back(struct engine *en, struct err *e) TS_CHECK;
/* The newest replacement of a parameter of launch seq, or NULL. */
const struct replay_arg *replay_device_arg(
	const struct replay_device *rd, uint64_t seq, uint32_t param);

#endif
