/* The first instructions of a program: every register goes to `first_registers` before anything changes it. */
	.globl	_start, first_registers, thread_start
_start:
	/* Below the stack is free, and the only place that needs no register. */
	st.d	$t0, $sp, -8
	la.pcrel $t0, first_registers
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	st.d	$r\n, $t0, \n * 8
	.endr
	ld.d	$t1, $sp, -8
	st.d	$t1, $t0, 12 * 8
	move	$a0, $sp
	bstrins.d $sp, $zero, 3, 0
	b	first

	.bss
	.balign	8
first_registers:
	.space	32 * 8
