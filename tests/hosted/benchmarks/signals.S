/* What `signals` is made of besides C: its start, a handler that returns, what uses the vector unit, and faults. */
	.globl	_start, on_signal, skip_instruction, use_none, use_fp, use_lsx, use_lasx, do_break, do_load, handled
_start:
	move	$a0, $sp
	bstrins.d $sp, $zero, 3, 0
	b	first

on_signal:
	la.pcrel $t0, handled
	ld.d	$t1, $t0, 0
	addi.d	$t1, $t1, 1
	st.d	$t1, $t0, 0
	ret

/* Adds 4 to the saved pc, which is 176 bytes into the context. */
skip_instruction:
	ld.d	$t0, $a2, 176
	addi.d	$t0, $t0, 4
	st.d	$t0, $a2, 176
	b	on_signal

use_none:
	ret
use_fp:
	movgr2fr.d $f0, $zero
	ret
use_lsx:
	vreplgr2vr.d $vr0, $zero
	ret
use_lasx:
	xvreplgr2vr.d $xr0, $zero
	ret
do_break:
	break	0
	ret
do_load:
	li.w	$t0, 8
	ld.d	$t0, $t0, 0
	ret

	.bss
	.balign	8
handled:
	.space	8
