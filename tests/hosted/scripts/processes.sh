echo $$ | grep -c '^[0-9]*$'
cat /proc/self/comm 2>/dev/null; grep -c . /proc/self/status | awk '{ print ($1 > 10) }'
sh -c 'echo $0 $1' name word
sh -c 'exit 3'; echo $?
env -i A=b /usr/bin/busybox env
(cd /; pwd); pwd
umask; (umask 077; touch /tmp/private; stat -c %a /tmp/private)
ulimit -n >/dev/null && echo limit
no-such-command 2>/dev/null; echo $?
/tmp 2>/dev/null; echo $?
printf '#!/bin/sh\necho script $1\n' > /tmp/s; chmod +x /tmp/s; /tmp/s arg
printf 'echo plain\n' > /tmp/p; chmod +x /tmp/p; /tmp/p
nice true && echo nice
exec sh -c 'echo replaced'
