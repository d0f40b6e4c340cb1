/* See vectors.h. The offsets are those of its struct. */
#define CONDITIONS 1024
#define CONTROL    1088

	.macro	all op, width, base
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	\op\n, \base, \n * \width
	.endr
	.endm

	.macro	load_control base
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	ld.d	$t0, \base, CONDITIONS + 8 * \n
	movgr2cf $fcc\n, $t0
	.endr
	ld.d	$t0, \base, CONTROL
	movgr2fcsr $fcsr0, $t0
	.endm

	.macro	store_control base
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	movcf2gr $t0, $fcc\n
	st.d	$t0, \base, CONDITIONS + 8 * \n
	.endr
	movfcsr2gr $t0, $fcsr0
	bstrpick.d $t0, $t0, 31, 0
	st.d	$t0, \base, CONTROL
	.endm

/* load and store, up to the register's number */
	.macro	functions name, load, store, width
	.globl	store_\name, hold_\name
store_\name:
	all	"\store", \width, $a0
	store_control $a0
	ret

hold_\name:
	addi.d	$sp, $sp, -160
	st.d	$ra, $sp, 0
	st.d	$s0, $sp, 8
	/* The caller's own: f24 to f31 are kept, and its control. */
	.irp	n, 24, 25, 26, 27, 28, 29, 30, 31
	fst.d	$f\n, $sp, 16 + 8 * (\n - 24)
	.endr
	movfcsr2gr $t0, $fcsr0
	st.d	$t0, $sp, 80
	move	$a4, $a0			/* the pattern */
	move	$a5, $a2			/* rounds */
	move	$s0, $zero			/* the round */
	all	"\load", \width, $a4
	load_control $a4
1:	addi.d	$s0, $s0, 1
	/* Time for others: some hundred instructions, or a call. */
	li.w	$t1, 200
2:	addi.d	$t1, $t1, -1
	bnez	$t1, 2b
	beqz	$a3, 3f
	li.w	$a7, 172			/* getpid */
	li.w	$t1, 1
	beq	$a3, $t1, 4f
	li.w	$a7, 124			/* sched_yield */
4:	syscall	0
3:	all	"\store", \width, $a1
	store_control $a1
	/* The registers, then conditions and control. */
	move	$t1, $zero
5:	ldx.d	$t2, $a4, $t1
	ldx.d	$t3, $a1, $t1
	bne	$t2, $t3, 9f
	addi.d	$t1, $t1, 8
	li.w	$t2, 32 * \width
	bne	$t1, $t2, 6f
	li.w	$t1, CONDITIONS
6:	li.w	$t2, CONTROL + 8
	bne	$t1, $t2, 5b
	bne	$s0, $a5, 1b
	move	$s0, $zero
9:	move	$a0, $s0
	ld.d	$t0, $sp, 80
	movgr2fcsr $fcsr0, $t0
	.irp	n, 24, 25, 26, 27, 28, 29, 30, 31
	fld.d	$f\n, $sp, 16 + 8 * (\n - 24)
	.endr
	ld.d	$s0, $sp, 8
	ld.d	$ra, $sp, 0
	addi.d	$sp, $sp, 160
	ret
	.endm

	functions fp, "fld.d $f", "fst.d $f", 8
	functions lsx, "vld $vr", "vst $vr", 16
	functions lasx, "xvld $xr", "xvst $xr", 32
