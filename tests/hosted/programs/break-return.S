/* Code that is interrupted where every register is known, and tells afterwards what is in each.
 *
 * observe_break_N, observe_call_N (number, arguments): save what the caller needs, put a constant in every register,
 * and do a `break`, or a system call. The handler changes all of them, and the saved pc; the register N is then the
 * address of `returned`, where the others go. */
	.globl	returned

	.macro	constant n
	li.d	$r\n, 0xc0de000000000000 + \n * 0x010101010101
	.endm

	.macro	begin
	la.pcrel $t0, own
	.irp	n, 1, 2, 3, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	st.d	$r\n, $t0, \n * 8
	.endr
	.endm

	.macro	end_at base
	.irp	n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	st.d	$r\n, $r\base, \n * 8
	.endr
	la.pcrel $t0, own
	.irp	n, 1, 2, 3, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	ld.d	$r\n, $t0, \n * 8
	.endr
	ret
	.endm

	.macro	observe_break base
	.globl	observe_break_\base, broken_\base
observe_break_\base:
	begin
	.irp	n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	constant \n
	.endr
broken_\base:
	break	0
	end_at \base
	.endm

	.macro	observe_call base
	.globl	observe_call_\base, called_\base
observe_call_\base:
	begin
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
called_\base:
	/* Left out: the handler adds 4. */
	break	1
	end_at \base
	.endm

	.irp	base, 21, 12, 3, 4
	observe_break \base
	observe_call \base
	.endr

	.bss
	.balign	8
own:	.space	32 * 8
returned:
	.space	32 * 8
