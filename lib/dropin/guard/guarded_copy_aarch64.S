/* SPDX-License-Identifier: MIT */
/*
 * guarded_copy.h for aarch64. Each register of an aligned pair is stored as a whole. The processor
 * may reorder pairs, so the pieces are stored with release semantics.
 */
#if defined(__aarch64__)

#define EFAULT 14

.macro begin name
	.globl	\name
	.hidden	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	hint	#34 /* bti c */
.endm

.macro end name
	.cfi_endproc
	.size	\name, . - \name
.endm

.macro end_of_faults name
	.globl	\name\()_end
	.hidden	\name\()_end
\name\()_end:
.endm

/* Moves the piece of \bytes bytes. stlr has no offset. */
.macro piece load, store, register, bytes
	\load	\register, [x1], #\bytes
	\store	\register, [x0]
	add	x0, x0, #\bytes
	sub	x2, x2, #\bytes
.endm

/*
 * Moves x2 bytes from [x1] to [x0]. \shared is the register with the application's address. Pieces
 * of 1, 2, 4 and 8 bytes climb to a multiple of 16, pairs go on and leave 1 to 16 bytes, and
 * aligned pieces of 8, 4, 2 and 1 bytes end the copy. \release stands before the names of the
 * stores of pieces: "stl" where other processors look at them.
 */
.macro copy name, shared, release
	begin	\name
	cbz	x2, .Ldone\@
	tbz	\shared, #0, .Lby_2\@
	piece	ldrb, \release\()rb, w3, 1
.Lby_2\@:
	tbz	\shared, #1, .Lby_4\@
	cmp	x2, #2
	b.lo	.Ltail\@
	piece	ldrh, \release\()rh, w3, 2
.Lby_4\@:
	tbz	\shared, #2, .Lby_8\@
	cmp	x2, #4
	b.lo	.Ltail\@
	piece	ldr, \release\()r, w3, 4
.Lby_8\@:
	tbz	\shared, #3, .Lblocks\@
	cmp	x2, #8
	b.lo	.Ltail\@
	piece	ldr, \release\()r, x3, 8
.Lblocks\@:
	cmp	x2, #64
	b.ls	.Llast_blocks\@
.Lfour_blocks\@:
	ldp	x3, x4, [x1]
	ldp	x5, x6, [x1, #16]
	ldp	x7, x8, [x1, #32]
	ldp	x9, x10, [x1, #48]
	stp	x3, x4, [x0]
	stp	x5, x6, [x0, #16]
	stp	x7, x8, [x0, #32]
	stp	x9, x10, [x0, #48]
	add	x1, x1, #64
	add	x0, x0, #64
	sub	x2, x2, #64
	cmp	x2, #64
	b.hi	.Lfour_blocks\@
.Llast_blocks\@:
	cmp	x2, #16
	b.ls	.Ltail\@
.Lblock\@:
	ldp	x3, x4, [x1], #16
	stp	x3, x4, [x0], #16
	sub	x2, x2, #16
	cmp	x2, #16
	b.hi	.Lblock\@
.Ltail\@:
	cmp	x2, #8
	b.lo	.Ltail_4\@
	piece	ldr, \release\()r, x3, 8
	b	.Ltail\@
.Ltail_4\@:
	tbz	w2, #2, .Ltail_2\@
	piece	ldr, \release\()r, w3, 4
.Ltail_2\@:
	tbz	w2, #1, .Ltail_1\@
	piece	ldrh, \release\()rh, w3, 2
.Ltail_1\@:
	tbz	w2, #0, .Ldone\@
	piece	ldrb, \release\()rb, w3, 1
.Ldone\@:
	mov	w0, #0
	ret
	end_of_faults \name
	end	\name
.endm

	.text

copy rnic_guarded_write, w0, stl
copy rnic_guarded_read, w1, st

begin rnic_guarded_fetch_add
1:	ldaxr	x3, [x0]
	add	x4, x3, x1
	stlxr	w5, x4, [x0]
	cbnz	w5, 1b
end_of_faults rnic_guarded_fetch_add
	str	x3, [x2]
	mov	w0, #0
	ret
end rnic_guarded_fetch_add

/* A word that differs is stored as it was: as on x86-64, read-only memory is a fault. */
begin rnic_guarded_compare_swap
1:	ldaxr	x4, [x0]
	cmp	x4, x1
	csel	x6, x2, x4, eq
	stlxr	w5, x6, [x0]
	cbnz	w5, 1b
end_of_faults rnic_guarded_compare_swap
	str	x4, [x3]
	mov	w0, #0
	ret
end rnic_guarded_compare_swap

begin rnic_guarded_fault
	mov	w0, #-EFAULT
	ret
end rnic_guarded_fault

#endif

	.section .note.GNU-stack, "", %progbits
