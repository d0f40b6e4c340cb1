/* long pinned_call(long number, const long arguments[6]): a system call with a constant in every register that Linux
 * keeps. What is in them afterwards goes to `pinned_found`, by number; `pinned_constant(n)` is what was there before. */
	.globl	pinned_call, pinned_found

	/* The constant of a register: its number in every byte, and a top that is no address. */
	.macro	constant n
	li.d	$r\n, 0xc0de000000000000 + \n * 0x010101010101
	.endm

pinned_call:
	la.pcrel $t0, saved
	.irp	n, 1, 2, 3, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	st.d	$r\n, $t0, \n * 8
	.endr
	move	$t0, $a0
	move	$t1, $a1
	ld.d	$a0, $t1, 0
	ld.d	$a1, $t1, 8
	ld.d	$a2, $t1, 16
	ld.d	$a3, $t1, 24
	ld.d	$a4, $t1, 32
	ld.d	$a5, $t1, 40
	move	$a7, $t0
	.irp	n, 1, 2, 3, 10, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	constant \n
	.endr
	syscall	0
	la.pcrel $t0, pinned_found
	.irp	n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	st.d	$r\n, $t0, \n * 8
	.endr
	la.pcrel $t0, saved
	.irp	n, 1, 2, 3, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	ld.d	$r\n, $t0, \n * 8
	.endr
	ret

	.bss
	.balign	8
saved:	.space	32 * 8
pinned_found:
	.space	32 * 8
