/* raise_held(process, signal): kill, with 0x1111… in every vector register, on a stack pointer that is a multiple of
 * 64, so that every frame has the same layout; then tells the unit's state: register 0,
 * conditions, control, 48 bytes in all. return_at(frame): rt_sigreturn with the stack pointer given. */
	.globl	raise_held, return_at, unit_after, stop_here
raise_held:
	/* The frame ends where the stack pointer is, a multiple of 64, and what lies behind is neither an end nor a record
	 * of any size that a changed bit makes. */
	la.pcrel $t0, own
	st.d	$sp, $t0, 0
	.irp	n, 24, 25, 26, 27, 28, 29, 30, 31
	fst.d	$f\n, $t0, (\n - 23) * 8
	.endr
	move	$t1, $sp
	li.d	$t2, 0x11000
	sub.d	$sp, $sp, $t2
	bstrins.d $sp, $zero, 5, 0
	li.d	$t2, 0x1111111111111111
	move	$t3, $sp
1:	st.d	$t2, $t3, 0
	addi.d	$t3, $t3, 8
	bne	$t3, $t1, 1b
	li.d	$t0, 0x1111111111111111
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	xvreplgr2vr.d $xr\n, $t0
	.endr
	movgr2fcsr $fcsr0, $zero
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	movgr2cf $fcc\n, $zero
	.endr
	li.w	$a7, 129
	syscall	0
	la.pcrel $t0, unit_after
	xvst	$xr0, $t0, 0
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	movcf2gr $t1, $fcc\n
	st.b	$t1, $t0, 32 + \n
	.endr
	movfcsr2gr $t1, $fcsr0
	st.w	$t1, $t0, 40
	movgr2fcsr $fcsr0, $zero
	la.pcrel $t0, own
	.irp	n, 24, 25, 26, 27, 28, 29, 30, 31
	fld.d	$f\n, $t0, (\n - 23) * 8
	.endr
	ld.d	$sp, $t0, 0
	ret

return_at:
	move	$sp, $a0
	li.w	$a7, 139
	syscall	0
stop_here:
	break	0

	.bss
	.balign	32
unit_after:
	.space	64
own:	.space	9 * 8
