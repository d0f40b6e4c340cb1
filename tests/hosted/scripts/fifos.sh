# Two that talk through named pipes, a hundred times.
mkfifo /tmp/there /tmp/back
(i=0; while [ $i -lt 100 ]; do read n <&3; echo $((n + 1)) >&4; i=$((i + 1)); done) 3< /tmp/there 4> /tmp/back &
exec 5> /tmp/there 6< /tmp/back
n=0; i=0; while [ $i -lt 100 ]; do echo $n >&5; read n <&6; i=$((i + 1)); done
exec 5>&- 6<&-; wait; echo $n
