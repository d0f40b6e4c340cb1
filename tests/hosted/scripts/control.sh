for i in 1 2 3 4 5; do
	case $i in 2) continue;; 4) break;; *) echo $i;; esac
done
i=0; while [ $i -lt 3 ]; do i=$((i + 1)); printf '%d ' $i; done; echo
until [ $i -eq 0 ]; do i=$((i - 1)); done; echo $i
if [ -d /tmp ] && [ ! -e /tmp/none ]; then echo yes; else echo no; fi
f() { local x=$1; [ $x -le 1 ] && echo 1 && return; echo $((x * $(f $((x - 1))))); }
f 6
g() { return 3; }; g; echo $?
case abc in a*) echo starts;; esac
[ 1 -eq 1 -a 2 -gt 1 ] && echo and; test -z "" && echo empty
true && false || echo or; ! false && echo not
