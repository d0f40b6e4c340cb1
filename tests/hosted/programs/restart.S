/* interrupted_call(number, arguments): a system call whose two addresses a handler knows. */
	.globl	interrupted_call, the_call, after_call
interrupted_call:
	move	$t0, $a0
	move	$t1, $a1
	ld.d	$a0, $t1, 0
	ld.d	$a1, $t1, 8
	ld.d	$a2, $t1, 16
	ld.d	$a3, $t1, 24
	ld.d	$a4, $t1, 32
	ld.d	$a5, $t1, 40
	move	$a7, $t0
the_call:
	syscall	0
after_call:
	ret
