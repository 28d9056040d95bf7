/* SPDX-License-Identifier: MIT */
/*
 * guarded_copy.h for x86-64. SSE2 is on every such processor, needs no vzeroupper and is never far
 * behind memcpy(3). The processor keeps stores in order and stores an aligned block of 16 bytes in
 * words of at least 8. `rep movsb` does neither. valgrind does not know AVX-512.
 */
#if defined(__x86_64__)

#include <cet.h>

#define EFAULT 14

.macro begin name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	_CET_ENDBR
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

.macro piece load, to, store, from, bytes
	\load	(%rsi), \to
	\store	\from, (%rdi)
	add	$\bytes, %rsi
	add	$\bytes, %rdi
	sub	$\bytes, %rdx
.endm

/*
 * Moves %rdx bytes from (%rsi) to (%rdi). \shared is the low byte of the application's address.
 * Pieces of 1, 2, 4 and 8 bytes climb to a multiple of 16, blocks of 16 bytes go on and leave 1 to
 * 16 bytes, and aligned pieces of 8, 4, 2 and 1 bytes end the copy. So the last store is a piece:
 * some processors store the halves of a block in any order.
 */
.macro copy name, shared, load, store
	begin	\name
	test	%rdx, %rdx
	jz	.Ldone\@
	test	$1, \shared
	jz	.Lby_2\@
	piece	movzbl, %eax, movb, %al, 1
.Lby_2\@:
	test	$2, \shared
	jz	.Lby_4\@
	cmp	$2, %rdx
	jb	.Ltail\@
	piece	movzwl, %eax, movw, %ax, 2
.Lby_4\@:
	test	$4, \shared
	jz	.Lby_8\@
	cmp	$4, %rdx
	jb	.Ltail\@
	piece	movl, %eax, movl, %eax, 4
.Lby_8\@:
	test	$8, \shared
	jz	.Lblocks\@
	cmp	$8, %rdx
	jb	.Ltail\@
	piece	movq, %rax, movq, %rax, 8
.Lblocks\@:
	cmp	$64, %rdx
	jbe	.Llast_blocks\@
	.p2align 4
.Lfour_blocks\@:
	\load	(%rsi), %xmm0
	\load	16(%rsi), %xmm1
	\load	32(%rsi), %xmm2
	\load	48(%rsi), %xmm3
	\store	%xmm0, (%rdi)
	\store	%xmm1, 16(%rdi)
	\store	%xmm2, 32(%rdi)
	\store	%xmm3, 48(%rdi)
	add	$64, %rsi
	add	$64, %rdi
	sub	$64, %rdx
	cmp	$64, %rdx
	ja	.Lfour_blocks\@
.Llast_blocks\@:
	cmp	$16, %rdx
	jbe	.Ltail\@
.Lblock\@:
	piece	\load, %xmm0, \store, %xmm0, 16
	cmp	$16, %rdx
	ja	.Lblock\@
.Ltail\@:
	cmp	$8, %rdx
	jb	.Ltail_4\@
	piece	movq, %rax, movq, %rax, 8
	jmp	.Ltail\@
.Ltail_4\@:
	test	$4, %dl
	jz	.Ltail_2\@
	piece	movl, %eax, movl, %eax, 4
.Ltail_2\@:
	test	$2, %dl
	jz	.Ltail_1\@
	piece	movzwl, %eax, movw, %ax, 2
.Ltail_1\@:
	test	$1, %dl
	jz	.Ldone\@
	piece	movzbl, %eax, movb, %al, 1
.Ldone\@:
	xor	%eax, %eax
	ret
	end_of_faults \name
	end	\name
.endm

	.text

copy rnic_guarded_write, %dil, movups, movaps
copy rnic_guarded_read, %sil, movaps, movups

begin rnic_guarded_fetch_add
	lock xaddq %rsi, (%rdi)
end_of_faults rnic_guarded_fetch_add
	movq	%rsi, (%rdx)
	xor	%eax, %eax
	ret
end rnic_guarded_fetch_add

begin rnic_guarded_compare_swap
	movq	%rsi, %rax
	lock cmpxchgq %rdx, (%rdi)
end_of_faults rnic_guarded_compare_swap
	movq	%rax, (%rcx)
	xor	%eax, %eax
	ret
end rnic_guarded_compare_swap

begin rnic_guarded_fault
	movl	$-EFAULT, %eax
	ret
end rnic_guarded_fault

#endif

	.section .note.GNU-stack, "", %progbits
