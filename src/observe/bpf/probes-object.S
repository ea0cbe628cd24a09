/* SPDX-License-Identifier: Apache-2.0
 *
 * The BPF programs' object file as bytes, for probes.c.
 */
	.section .rodata
	.balign 16
	.globl observe_object
	.hidden observe_object
	.globl observe_object_end
	.hidden observe_object_end
observe_object:
	.incbin OBSERVE_OBJECT
observe_object_end:
	.section .note.GNU-stack,"",@progbits
