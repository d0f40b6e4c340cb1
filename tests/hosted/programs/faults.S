/* Instructions that fault, each at a label. load_at(address), store_at(address), call_at(address). */
	.globl	load_at, loads, store_at, stores, call_at, call_back
load_at:
	move	$a1, $a0
	li.w	$a0, 77
loads:	ld.w	$a0, $a1, 0
	ret

store_at:
stores:	st.w	$zero, $a0, 0
	ret

call_at:
	addi.d	$sp, $sp, -16
	st.d	$ra, $sp, 0
	jirl	$ra, $a0, 0
call_back:
	ld.d	$ra, $sp, 0
	addi.d	$sp, $sp, 16
	ret

	.macro	faulting name, text:vararg
	.globl	\name, at_\name
\name:
	li.w	$t0, 1
	li.w	$t1, 2
at_\name:
	\text
	ret
	.endm

	faulting break_0, break 0
	faulting break_1, break 1
	faulting break_5, break 5
	faulting break_6, break 6
	faulting break_7, break 7
	faulting break_8, break 8
	faulting break_100, break 100
	faulting privileged, csrrd $t0, 0
	faulting undefined, .word 0
	faulting bounds, asrtle.d $t1, $t0
	faulting bounds_greater, asrtgt.d $t0, $t1

	.macro	floating name, enables, text:vararg
	.globl	\name, at_\name
\name:
	li.w	$t0, \enables
	movgr2fcsr $fcsr0, $t0
	li.d	$t0, 0x7fefffffffffffff
	movgr2fr.d $fa0, $t0
	movgr2fr.d $fa1, $zero
	li.d	$t0, 1
	movgr2fr.d $fa2, $t0
	ffint.d.l $fa3, $fa2
	vldi	$vr4, -912
at_\name:
	\text
	movgr2fcsr $fcsr0, $zero
	ret
	.endm

	floating float_divide, 8, fdiv.d $fa5, $fa3, $fa1
	floating float_invalid, 16, fdiv.d $fa5, $fa1, $fa1
	floating float_overflow, 4, fadd.d $fa5, $fa0, $fa0
	floating float_inexact, 1, fdiv.d $fa5, $fa3, $fa0
	floating float_underflow, 2, fmul.d $fa5, $fa2, $fa2
	floating float_none, 0, fdiv.d $fa5, $fa3, $fa1
