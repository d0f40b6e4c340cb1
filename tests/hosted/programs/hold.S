/* hold_registers(): a constant in each of the 31 registers, and a loop that changes none of them. Whoever interrupts
 * it may look at them, and lets it end by setting the saved pc to `hold_end`, and $r21 to anything. */
	.globl	hold_registers, hold_begin, hold_last, hold_end, spoil_and_return

	.macro	constant n
	li.d	$r\n, 0xc0de000000000000 + \n * 0x010101010101
	.endm

hold_registers:
	la.pcrel $t0, own
	.irp	n, 1, 2, 3, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	st.d	$r\n, $t0, \n * 8
	.endr
	.irp	n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	constant \n
	.endr
hold_begin:
	nop
	nop
	nop
hold_last:
	b	hold_begin
hold_end:
	la.pcrel $t0, own
	.irp	n, 1, 2, 3, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	ld.d	$r\n, $t0, \n * 8
	.endr
	ret

/* The handler: calls `look`, then puts rubbish in everything but the stack pointer and the way back. */
spoil_and_return:
	addi.d	$sp, $sp, -16
	st.d	$ra, $sp, 0
	bl	look
	ld.d	$t0, $sp, 0
	addi.d	$sp, $sp, 16
	.irp	n, 2, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	li.d	$r\n, 0xbad0000000000bad
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	xvreplgr2vr.d $xr\n, $r4
	.endr
	move	$ra, $t0
	jr	$ra

	.bss
	.balign	8
own:	.space	32 * 8
