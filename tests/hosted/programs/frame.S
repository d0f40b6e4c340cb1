/* Handlers and interrupted code of `frame`, with every register in view. */
	.globl	enter_handler, entry_registers, call_framed, framed_syscall, framed_after
	.globl	live_none, live_fp, live_lsx, live_lasx

/* A handler that notes what it is entered with, and goes on as `handler`. */
enter_handler:
	la.pcrel $t0, entry_registers
	st.d	$ra, $t0, 8
	st.d	$tp, $t0, 16
	st.d	$sp, $t0, 24
	st.d	$a0, $t0, 32
	st.d	$a1, $t0, 40
	st.d	$a2, $t0, 48
	st.d	$r21, $t0, 168
	st.d	$fp, $t0, 176
	st.d	$s0, $t0, 184
	b	handler

/* call_framed(process, thread, signal): tgkill with a constant in every register that may have one, and a stack
 * pointer that is a multiple of 64. */
call_framed:
	addi.d	$sp, $sp, -128
	st.d	$ra, $sp, 0
	st.d	$fp, $sp, 8
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8
	st.d	$s\n, $sp, 16 + \n * 8
	.endr
	st.d	$r21, $sp, 88
	move	$fp, $sp
	bstrins.d $sp, $zero, 5, 0
	.irp	n, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 31
	li.d	$r\n, 0x1111111111111100 + \n
	.endr
	li.w	$a3, 0x703
	li.w	$a4, 0x704
	li.w	$a5, 0x705
	li.w	$a6, 0x706
	li.w	$a7, 131
framed_syscall:
	syscall	0
framed_after:
	move	$sp, $fp
	ld.d	$ra, $sp, 0
	ld.d	$fp, $sp, 8
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8
	ld.d	$s\n, $sp, 16 + \n * 8
	.endr
	ld.d	$r21, $sp, 88
	addi.d	$sp, $sp, 128
	ret

/* What makes the unit live, at each width. */
live_none:
	ret
live_fp:
	movgr2fr.d $f0, $zero
	ret
live_lsx:
	vreplgr2vr.d $vr0, $zero
	ret
live_lasx:
	xvreplgr2vr.d $xr0, $zero
	ret

	.bss
	.balign	8
entry_registers:
	.space	32 * 8
